package tensor

// BinaryCrossEntropy computes the loss of each example over n labels, and the gradient of the loss
// with each label's term multiplied by its Scale. Any number of labels may be positive: y = Target is
// 1 for positive labels and 0 for others. With z = Logits,
//
//	Loss = Σ_c (Positive·y·softplus(−z) + (1 − y)·softplus(z))
//	DLogits = Scale·(−Positive·σ(−z) if y = 1, σ(z) otherwise)
//
// softplus(−z) equals −log σ(z) but neither overflows nor cancels. DLogits is the gradient of the
// sum over the examples, not of their mean. Scale does not affect Loss.
type BinaryCrossEntropy struct {
	Loss     *Tensor `op:"write" shape:"E"`
	DLogits  *Tensor `op:"write" shape:"E,n"`
	Logits   *Tensor `shape:"E,n"`
	Target   *Tensor `shape:"E,n"`
	Positive *Tensor `shape:"n"` // weight of the loss of a positive label
	Scale    *Tensor `shape:"n"` // in device memory because it changes from step to step
}
