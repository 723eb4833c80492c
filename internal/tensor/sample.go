package tensor

// Sample chooses the tokens that a layer attends to. The L' candidates of a sequence are the tokens
// left after dropout, or all tokens if every token is dropped. Let ke = min(K, L'). S1 are the ke
// candidates with the largest noised scores (ties: smaller tie key, then lower position). S2 are
// min(ke, L'−ke) of the remaining candidates (smallest partner key, then lower position). Both are
// sorted by position; the i-th token of S2 is the partner of the i-th token of S1.
//
// Noised = Score − log(−log u) if Noise is set, otherwise Score. The choice has no gradient; the
// gradient of the scores flows through [Duplet].
type Sample struct {
	Noised   *Tensor `op:"write" shape:"T"`
	Top      *Tensor `op:"write" shape:"S"` // int32: positions of the tokens of S1
	Partner  *Tensor `op:"write" shape:"S"` // int32: positions of their partners, −1 without a partner
	Count    *Tensor `op:"write" shape:"B"` // int32: ke
	Score    *Tensor `shape:"T"`
	Batch    *Batch
	K        int
	Layer    uint32
	Noise    bool
	DropRate float32 // probability of dropping a token; 0 in evaluation
}
