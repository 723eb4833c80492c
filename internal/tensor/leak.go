package tensor

// Leak sums each head's leak over the sampled keys of a sequence:
// Y[b, n] = Σ_r softplus(C[r, n]).
type Leak struct {
	Y     *Tensor `op:"write" shape:"B,h"`
	C     *Tensor `shape:"S,h"`
	Count *Tensor `shape:"B"` // int32
	Batch *Batch
}

// LeakBackward: DC[r, n] = DY[b, n]·σ(C[r, n]), 0 beyond the sampled rows.
type LeakBackward struct {
	DC    *Tensor `op:"write" shape:"S,h"`
	DY    *Tensor `shape:"B,h"`
	C     *Tensor `shape:"S,h"`
	Count *Tensor `shape:"B"` // int32
	Batch *Batch
}
