package sft

import (
	"context"
)

// Compare returns the logits of pairs, of which the i-th is that of the sequences
// with the embeddings a[i] and b[i], as [Scorer.Embeddings] has them: row-major,
// and bit for bit those of [Scorer.Examples]. The head alone is run, so that many
// pairs of few sequences cost little. It takes one slot; several may run concurrently.
func (s *Scorer) Compare(ctx context.Context, a, b [][]float32) ([]float32, error) {
	if err := s.layered(); err != nil {
		return nil, err
	}
	logits, err := s.runner.Compare(ctx, a, b)
	if err != nil {
		return nil, err
	}
	c := s.Config()
	for at := 0; at < len(logits); at += c.NumLabels {
		copy(logits[at:at+c.NumLabels], c.CalibratedLogits(logits[at:at+c.NumLabels]))
	}
	return logits, nil
}
