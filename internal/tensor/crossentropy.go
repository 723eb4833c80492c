package tensor

// CrossEntropy is the loss of each example and the gradient of Scale[Label] times it:
// Loss = log Σ exp(Logits) − Logits[Label], DLogits = Scale[Label]·(softmax(Logits) − onehot).
// The gradient is that of the sum over the examples, not of their mean. The loss itself
// has no scale.
type CrossEntropy struct {
	Loss    *Tensor `op:"write"` // [E]
	DLogits *Tensor `op:"write"` // [E, C]
	Logits  *Tensor // [E, C]
	Label   *Tensor // [E] int32
	Scale   *Tensor // [C], in device memory because it changes from step to step
}

func (CrossEntropy) Name() string { return "crossentropy" }
func (k CrossEntropy) check() {
	same("crossentropy", k.DLogits, k.Logits)
	rows("crossentropy", k.Loss, k.Logits)
	rows("crossentropy", k.Label, k.Logits)
	words("crossentropy", k.Scale, k.Logits.Width())
}
