// Package seq holds labelled sequences as Apache Arrow record batches: their
// schema, reading and writing, random access, the order of training batches,
// and data set directories.
//
// # Files
//
// A file is an Arrow IPC file or stream whose schema is that of a [Spec]:
//
//	tokens   list<uint8 | uint16 | int32>   a classification's sequence, or
//	tokens_a, tokens_b                      the two sequences of a pair, or
//	features list<fixed_size_list<float32>> float numbers for each token, in place of its id
//	edges    list<fixed_size_list<int32>[2]> those among the tokens of a graph, source and target from 0
//	edge_features list<fixed_size_list<float32>> float numbers for each edge; absent where they have none
//	label    int32                          absent or null where unknown; of the task multi-label
//	         list<int32>                    those that hold, ascending; of the task tagging
//	         list<int32>                    one for each token, null where it has none
//	numbers  fixed_size_list<float32>       of a regression, in place of a label; may be absent or null
//	id       utf8                           what a row is called; may be absent or null
//
// with the task, tokenizer, vocabulary, names of labels, numbers, features and edges' features, and split in the
// schema's metadata. An id is what is stored plus first_token_id of the metadata, 0 if that is absent: bytes, whose ids
// are 1 … 256, are stored as they are. The column label_mask is reserved and refused so far; any other column is
// ignored, and so is an id that is no text.
//
// # Hostile input
//
// A file may come from anywhere. Its messages are checked before Arrow decodes them, and
// what comes out is validated row by row. A bad file is an error that names file, record
// batch, row and column; it is never a panic, and never costs memory out of proportion to
// the bytes read.
//
// Limits: metadata of a message 1 MiB, body of a record batch 1 GiB (also after
// decompression), 64 columns, 128 MiB for the window that a ZSTD frame asks for.
package seq

// NoLabel stands in Example.Label where the label is not known.
const NoLabel int32 = -1

// An Example is one row: a sequence, or a pair of them, and its label, labels or numbers.
type Example struct {
	Index uint32  // the row's index within its file
	A     []int32 // tokens, or tokens_a
	B     []int32 // tokens_b; nil unless the row is a pair
	Label int32   // or NoLabel
	// of multi-label those that hold, ascending; of tagging one for each token, or NoLabel; nil where they are not
	// known
	Labels  []int32
	Numbers []float32 // of a regression; nil where they are not known
	ID      string    // what the row is called; "" if nothing, and from a File, which keeps none
	// Features are in place of A: a row of numbers for each token. They are nil where there are ids.
	Features [][]float32
	// Edges are those among the tokens, which have features. They are nil where the data have no edges.
	Edges []Edge
}

// Length returns the number of tokens of both sequences together.
func (e *Example) Length() int { return e.First() + len(e.B) }

// First returns the number of tokens of the first sequence, or of the only one.
func (e *Example) First() int { return max(len(e.A), len(e.Features)) }

// sequences are those of n columns.
func (e *Example) sequences(n int) [][]int32 { return [][]int32{e.A, e.B}[:n] }
