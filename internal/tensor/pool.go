package tensor

// Pool computes a weighted mean of the rows of each sequence: A = softmax of Score over the
// sequence's tokens, Y = Σ A_i X_i.
type Pool struct {
	Y     *Tensor `op:"write" shape:"B,d"`
	A     *Tensor `op:"write" shape:"T"`
	X     *Tensor `shape:"T,d"`
	Score *Tensor `shape:"T"`
	Batch *Batch
}

// PoolBackward computes DX_i = A_i DY, DScore_i = A_i DY·(X_i − Y).
type PoolBackward struct {
	DX     *Tensor `op:"write" shape:"T,d"`
	DScore *Tensor `op:"write" shape:"T"`
	DY, Y  *Tensor `shape:"B,d"`
	A      *Tensor `shape:"T"`
	X      *Tensor `shape:"T,d"`
	Batch  *Batch
}
