package tensor

// MaxPool computes the maximum of each channel over rows of each sequence:
//
//	Y_c = max_i X_ic, Arg_c = the smallest i with X_ic = Y_c
//
// where i is the index of a row among the first Count rows of the sequence, or among all its rows if
// Count is nil. Count is at least 1. NaN counts as larger than any number.
type MaxPool struct {
	Y     *Tensor `op:"write" shape:"B,d"`
	Arg   *Tensor `op:"write" shape:"B,d"` // int32
	X     *Tensor `shape:"R,d"`
	First *Tensor // [B+1] int32: first row of each sequence, then the number of rows
	Count *Tensor `shape:"B"` // int32; nil means all rows
}

// MaxPoolBackward computes DX_ic = DY_c where i = Arg_c, and 0 in all other rows.
type MaxPoolBackward struct {
	DX    *Tensor `op:"write" shape:"R,d"`
	DY    *Tensor `shape:"B,d"`
	Arg   *Tensor `shape:"B,d"` // int32
	First *Tensor // [B+1] int32
}
