package sft

import (
	"context"

	"github.com/sftseq/sftseq/seq"
)

// Embeddings returns the pooled vector of each sequence, in their order. It is
// the u of the classification head and, in a model of pairs, of each sequence
// alone, for search by cosine: it depends on nothing but the sequence and the
// model. The head is not run. Of a model of masked tokens it is the mean of the
// sequence's tokens.
func (s *Scorer) Embeddings(ctx context.Context, sequences [][]int32) ([][]float32, error) {
	examples := make([]seq.Example, len(sequences))
	for i, tokens := range sequences {
		examples[i].A = tokens
	}
	return s.EmbedExamples(ctx, examples)
}

// EmbedExamples is [Scorer.Embeddings] for examples of one sequence, whose tokens may have
// features.
func (s *Scorer) EmbedExamples(ctx context.Context, examples []seq.Example) ([][]float32, error) {
	if err := s.layered(); err != nil {
		return nil, err
	}
	return s.runner.Embeddings(ctx, examples)
}

// Probe computes the shortest sequence that the model, or the first of several, reads: an error says
// that the device computes no more.
func (s *Scorer) Probe(ctx context.Context) error {
	if l := s.withLayers(); l != nil { // otherwise there is no device that could fail
		return l.Probe(ctx)
	}
	return nil
}
