package tensor

// Leak computes each head's leak, a sum over the sampled keys of a sequence: Y[b, n] = Σ_r
// softplus(C[r, n]).
type Leak struct {
	Y     *Tensor `op:"write" shape:"B,h"`
	C     *Tensor `shape:"S,h"`
	Count *Tensor `shape:"B"` // int32
	Batch *Batch
}

// LeakBackward computes DC[r, n] = DY[b, n]·σ(C[r, n]), and 0 for unused rows.
type LeakBackward struct {
	DC    *Tensor `op:"write" shape:"S,h"`
	DY    *Tensor `shape:"B,h"`
	C     *Tensor `shape:"S,h"`
	Count *Tensor `shape:"B"` // int32
	Batch *Batch
}
