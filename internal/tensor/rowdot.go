package tensor

// RowDot scores rows: Y = X·Weight + Bias, every row in the same order of
// additions, so that equal rows have equal scores to the bit.
type RowDot struct {
	Y      *Tensor `op:"write"` // [R]
	X      *Tensor // [R, d]
	Weight *Tensor // [d]
	Bias   *Tensor // [1]
}

func (RowDot) Name() string { return "rowdot" }
func (k RowDot) check() {
	rows("rowdot", k.Y, k.X)
	width("rowdot", k.Y, 1)
	words("rowdot", k.Weight, k.X.Width())
	words("rowdot", k.Bias, 1)
}

// RowDotBackward: DX += DY·Weight, DWeight = Σ DY·X, DBias = Σ DY.
type RowDotBackward struct {
	DX      *Tensor `op:"add"`   // [R, d], added to
	DWeight *Tensor `op:"write"` // [d]
	DBias   *Tensor `op:"write"` // [1]
	DY      *Tensor // [R]
	X       *Tensor // [R, d]
	Weight  *Tensor // [d]
}

func (RowDotBackward) Name() string { return "rowdot_backward" }
func (k RowDotBackward) check() {
	same("rowdot_backward", k.DX, k.X)
	width("rowdot_backward", k.DY, 1)
	words("rowdot_backward", k.DWeight, k.X.Width())
}
