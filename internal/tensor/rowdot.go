package tensor

// RowDot scores rows: Y = X·Weight + Bias. It adds in the same order in every row, so that equal
// rows have bitwise equal scores.
type RowDot struct {
	Y      *Tensor `op:"write" shape:"R"`
	X      *Tensor `shape:"R,d"`
	Weight *Tensor `shape:"d"`
	Bias   *Tensor `shape:"1"`
}

// RowDotBackward computes DX += DY·Weight, DWeight = Σ DY·X, DBias = Σ DY.
type RowDotBackward struct {
	DX      *Tensor `op:"add" shape:"R,d"` // DX += the gradient
	DWeight *Tensor `op:"write" shape:"d"`
	DBias   *Tensor `op:"write" shape:"1"`
	DY      *Tensor `shape:"R"`
	X       *Tensor `shape:"R,d"`
	Weight  *Tensor `shape:"d"`
}
