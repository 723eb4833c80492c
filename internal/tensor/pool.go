package tensor

// Pool averages the rows of each sequence: A = softmax over its tokens of
// Score, Y = Σ A_i X_i.
type Pool struct {
	Y     *Tensor `op:"write"` // [B, d]
	A     *Tensor `op:"write"` // [T]
	X     *Tensor // [T, d]
	Score *Tensor // [T]
	Batch *Batch
}

func (Pool) Name() string { return "pool" }
func (k Pool) check() {
	width("pool", k.Y, k.X.Width())
	same("pool", k.A, k.Score)
}

// PoolBackward: DX_i = A_i DY, DScore_i = A_i DY·(X_i − Y).
type PoolBackward struct {
	DX     *Tensor `op:"write"` // [T, d]
	DScore *Tensor `op:"write"` // [T]
	DY, Y  *Tensor // [B, d]
	A      *Tensor // [T]
	X      *Tensor // [T, d]
	Batch  *Batch
}

func (PoolBackward) Name() string { return "pool_backward" }
func (k PoolBackward) check() {
	same("pool_backward", k.DX, k.X)
	same("pool_backward", k.DY, k.Y)
}
