package tensor

// CrossEntropy is the loss of each example and the gradient of Scale[Label] times it:
// Loss = log Σ exp(Logits) − Logits[Label], DLogits = Scale[Label]·(softmax(Logits) − onehot).
// The gradient is that of the sum over the examples, not of their mean. The loss itself
// has no scale.
type CrossEntropy struct {
	Loss    *Tensor `op:"write" shape:"E"`
	DLogits *Tensor `op:"write" shape:"E,C"`
	Logits  *Tensor `shape:"E,C"`
	Label   *Tensor `shape:"E"` // int32
	Scale   *Tensor `shape:"C"` // in device memory because it changes from step to step
}
