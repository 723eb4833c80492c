package sft

import (
	"context"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// HiddenStates are the rows of a sequence's tokens on their way through a model: at 0 those
// that the first layer reads, at l those that layer l hands on, [L, d] each, one token after
// another. The norm after the last layer, which models of pre-norm have, is not applied.
type HiddenStates [][]float32

// HiddenStates scores examples as [Scorer.Examples] does, to the bit, and returns the rows of
// each of their sequences after every layer, too. It takes memory for all of them.
func (s *Scorer) HiddenStates(ctx context.Context, examples []seq.Example) ([]Output, error) {
	if err := s.layered(); err != nil {
		return nil, err
	}
	return s.score(ctx, examples, model.HiddenMode)
}
