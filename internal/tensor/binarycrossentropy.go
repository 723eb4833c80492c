package tensor

// BinaryCrossEntropy is the loss of each example over n labels, and the gradient of Scale times it.
// Any number of labels may be positive: y = Target is 1 for positive labels and 0 for others. With
// z = Logits, Loss = Σ_c Positive·y·softplus(−z) + (1 − y)·softplus(z) and DLogits =
// Scale·(−Positive·σ(−z) if y = 1, σ(z) otherwise). softplus(−z) is −log σ(z), in a form that
// neither overflows nor cancels. The gradient is that of the sum over the examples, not of their
// mean. The loss itself has no scale.
type BinaryCrossEntropy struct {
	Loss     *Tensor `op:"write" shape:"E"`
	DLogits  *Tensor `op:"write" shape:"E,n"`
	Logits   *Tensor `shape:"E,n"`
	Target   *Tensor `shape:"E,n"`
	Positive *Tensor `shape:"n"` // weight of the term of a positive label
	Scale    *Tensor `shape:"n"` // in device memory because it changes from step to step
}
