package sft

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/sftseq/sftseq/internal/collective"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// SharedExamples is [Scorer.Examples] of all ranks together: each scores some, and all
// return the outputs of all.
func (s *Scorer) SharedExamples(ctx context.Context, c Communicator, examples []seq.Example) ([]Output, error) {
	config := s.Config()
	rows, err := shared(ctx, c, len(examples), config.NumLabels+config.Sequences()*config.HiddenSize, func(from, to int) (rows [][]float32, err error) {
		out, err := s.Examples(ctx, examples[from:to])
		for _, o := range out {
			rows = append(rows, slices.Concat(append([][]float32{o.Logits}, o.Embeddings...)...))
		}
		return rows, err
	})
	if err != nil {
		return nil, err
	}
	out := make([]Output, len(examples))
	for i, row := range rows {
		out[i].Logits = row[:config.NumLabels:config.NumLabels]
		out[i].Embeddings = slices.Collect(slices.Chunk(row[config.NumLabels:], config.HiddenSize))
	}
	return out, nil
}

// CompareRanks refuses ranks that would compute other outputs, or whose data are others:
// those that the caller names, or the error of finding out.
func (s *Scorer) CompareRanks(c Communicator, data map[string]string, err error) error {
	mine, failed := s.engine.identity()
	if failed == nil {
		maps.Copy(mine, data)
	}
	return collective.Compare(c, mine, cmp.Or(err, failed))
}

// SharedEmbeddings is [Scorer.Embeddings] of all ranks together.
func (s *Scorer) SharedEmbeddings(ctx context.Context, c Communicator, sequences [][]int32) ([][]float32, error) {
	return shared(ctx, c, len(sequences), s.Config().HiddenSize, func(from, to int) ([][]float32, error) {
		return s.Embeddings(ctx, sequences[from:to])
	})
}

// shared has each rank compute a run of n rows of so many numbers, and returns all rows to
// all.
func shared(ctx context.Context, c Communicator, n, numbers int, compute func(from, to int) ([][]float32, error)) ([][]float32, error) {
	at := func(r int) int { return n * r / c.Size() }
	mine, err := compute(at(c.Rank()), at(c.Rank()+1))
	if err := agree(c, stopped(ctx, err)); err != nil {
		return nil, err
	}
	counts := make([]int, c.Size())
	for r := range counts {
		counts[r] = numbers * (at(r+1) - at(r))
	}
	all := make([]float32, numbers*n)
	if err := c.AllGather(tensor.Bits(slices.Concat(mine...)), tensor.Bits(all), counts); err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(all, numbers)), nil
}
