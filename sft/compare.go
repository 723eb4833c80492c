package sft

import (
	"context"
)

// Compare returns the logits of pairs, row-major. Row i belongs to the pair of sequences with the
// embeddings a[i] and b[i], as returned by [Scorer.Embeddings]. The logits have the same bits as
// those of [Scorer.Examples]. Compare runs only the head, so that many pairs of few sequences are
// cheap. A call uses one slot; several calls may run concurrently.
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
