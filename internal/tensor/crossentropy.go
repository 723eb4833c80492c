package tensor

// CrossEntropy computes the loss of each row and the gradient of Scale[Label] times the loss:
// Loss = log Σ exp(Logits) − Logits[Label], DLogits = Scale[Label]·(softmax(Logits) − onehot).
// DLogits is the gradient of the sum over the rows, not of their mean. Scale does not affect
// Loss.
type CrossEntropy struct {
	Loss    *Tensor `op:"write" shape:"E"`
	DLogits *Tensor `op:"write" shape:"E,C"`
	Logits  *Tensor `shape:"E,C"`
	Label   *Tensor `shape:"E"` // int32
	Scale   *Tensor `shape:"C"` // in device memory because it changes from step to step
}
