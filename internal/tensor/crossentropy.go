package tensor

// CrossEntropy is the loss of each example and its gradient:
// Loss = log Σ exp(Logits) − Logits[Label], DLogits = softmax(Logits) − onehot.
// The gradient is that of the sum over the examples, not of their mean.
type CrossEntropy struct {
	Loss    *Tensor // [E]
	DLogits *Tensor // [E, C]
	Logits  *Tensor // [E, C]
	Label   *Tensor // [E] int32
}

func (CrossEntropy) Name() string        { return "crossentropy" }
func (k CrossEntropy) Reads() []*Tensor  { return []*Tensor{k.Logits, k.Label} }
func (k CrossEntropy) Writes() []*Tensor { return []*Tensor{k.Loss, k.DLogits} }
func (k CrossEntropy) check()            { same("crossentropy", k.DLogits, k.Logits) }
