package tensor

// Sample chooses the tokens that a layer attends to. With L' tokens of a sequence not dropped and
// ke = min(K, L'), S1 is the ke of them with the largest score (ties: smaller tie key, then lower
// position) and S2 is min(ke, L'−ke) of the rest (smallest partner key, then lower position). Both
// are in ascending position, and paired i-th with i-th.
//
// Noised = Score − log(−log u) where Noise is set, else Score.
// A choice has no gradient; the scores' gradient flows through [Duplet].
type Sample struct {
	Noised   *Tensor `op:"write" shape:"T"`
	Top      *Tensor `op:"write" shape:"S"` // int32: position of the token of S1
	Partner  *Tensor `op:"write" shape:"S"` // int32: position of its partner, −1 without one
	Count    *Tensor `op:"write" shape:"B"` // int32: ke
	Score    *Tensor `shape:"T"`
	Batch    *Batch
	K        int
	Layer    uint32
	Noise    bool
	DropRate float32 // probability of dropping a token; 0 in evaluation
}
