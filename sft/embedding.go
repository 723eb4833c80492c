package sft

import (
	"context"

	"github.com/sftseq/sftseq/seq"
)

// Embeddings returns the pooled vector of each sequence, in their order, for example for a search
// by cosine similarity. It is the vector u that the head reads; a model of pairs has one for each
// sequence. It depends only on the sequence and the model. The head is not run. For a model of
// masked tokens it is the mean of the rows of the sequence's tokens.
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

// Probe computes the shortest sequence that the model, or the first of several, accepts. An error
// means that the device has stopped working.
func (s *Scorer) Probe(ctx context.Context) error {
	if l := s.withLayers(); l != nil { // without layers there is no device that could fail
		return l.Probe(ctx)
	}
	return nil
}
