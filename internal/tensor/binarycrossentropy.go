package tensor

// BinaryCrossEntropy is the loss of each example, over n labels of which any number hold, and the
// gradient of Scale times it, with y = Target, 1 where a label holds and 0 where it does not:
// Loss = Σ_c Positive·y·softplus(−z) + (1 − y)·softplus(z), z = Logits,
// DLogits = Scale·(−Positive·σ(−z) if y = 1, σ(z) otherwise). softplus(−z) is −log σ(z), in a form
// that neither overflows nor cancels. The gradient is that of the sum over the examples, not of
// their mean. The loss itself has no scale.
type BinaryCrossEntropy struct {
	Loss     *Tensor `op:"write" shape:"E"`
	DLogits  *Tensor `op:"write" shape:"E,n"`
	Logits   *Tensor `shape:"E,n"`
	Target   *Tensor `shape:"E,n"`
	Positive *Tensor `shape:"n"` // weight of the term of a label that holds
	Scale    *Tensor `shape:"n"` // in device memory because it changes from step to step
}
