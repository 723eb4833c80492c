package sft

import (
	"context"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
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
	return s.score(ctx, examples, hiddenMode)
}

// hide has rows kept that are the input of a layer or the output of the last, in hiddenMode.
func (p *recordedPass) hide(m *emitter, rows *tensor.Tensor) {
	if m.mode == hiddenMode {
		m.Keep(rows)
		p.hidden = append(p.hidden, rows)
	}
}

// hiddenStates reads those of each sequence of a batch that was run.
func (p *recordedPass) hiddenStates(b *packed, arena tensor.Memory) ([]HiddenStates, error) {
	out := make([]HiddenStates, len(b.example))
	for _, t := range p.hidden {
		rows := make([]float32, int(b.counts.Tokens)*t.Width())
		if err := tensor.Download(arena, t, rows); err != nil {
			return nil, err
		}
		for i := range out {
			from, to := int(b.offset[i])*t.Width(), int(b.offset[i+1])*t.Width()
			out[i] = append(out[i], rows[from:to:to])
		}
	}
	return out, nil
}
