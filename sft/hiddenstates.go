package sft

import (
	"context"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// HiddenStates holds the rows of a sequence's tokens between layers: index 0 is the input of the
// first layer, index l the output of layer l. Each element is [L, d], row-major. The final norm of
// pre-norm models is not applied.
type HiddenStates [][]float32

// HiddenStates scores examples like [Scorer.Examples], with the same bits, and also returns the
// rows of each sequence after every layer. It needs memory for all of them.
func (s *Scorer) HiddenStates(ctx context.Context, examples []seq.Example) ([]Output, error) {
	if err := s.layered(); err != nil {
		return nil, err
	}
	return s.score(ctx, examples, model.HiddenMode)
}
