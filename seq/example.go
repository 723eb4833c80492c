package seq

// NoLabel stands in Example.Label where the label is not known.
const NoLabel int32 = -1

// An Example is one row: a sequence, or a pair of them, and its label.
type Example struct {
	Index uint32  // the row's index within its file
	A     []int32 // tokens, or tokens_a
	B     []int32 // tokens_b; nil unless the row is a pair
	Label int32   // or NoLabel
	ID    string  // what the row is called; "" if nothing, and from a File, which keeps none
}

// Length returns the number of tokens of both sequences together.
func (e *Example) Length() int { return len(e.A) + len(e.B) }

// sequences are those of n columns.
func (e *Example) sequences(n int) [][]int32 { return [][]int32{e.A, e.B}[:n] }
