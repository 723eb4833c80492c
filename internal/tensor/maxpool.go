package tensor

// MaxPool takes the maximum of each channel over rows of each sequence:
//
//	Y_c = max_i X_ic, Arg_c = the lowest i of those that have it
//
// where i counts the first Count rows of the sequence from 0, or all of its rows if Count is
// nil. There is at least one. A NaN is above all numbers.
type MaxPool struct {
	Y     *Tensor `op:"write" shape:"B,d"`
	Arg   *Tensor `op:"write" shape:"B,d"` // int32
	X     *Tensor `shape:"R,d"`
	First *Tensor // [B+1] int32: the first row of each sequence, and the number of all rows
	Count *Tensor `shape:"B"` // int32; nil: all rows
}

// MaxPoolBackward: DX_ic = DY_c where i = Arg_c, and 0 in every other row.
type MaxPoolBackward struct {
	DX    *Tensor `op:"write" shape:"R,d"`
	DY    *Tensor `shape:"B,d"`
	Arg   *Tensor `shape:"B,d"` // int32
	First *Tensor // [B+1] int32
}
