package sft

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// SharedExamples is [Scorer.Examples] of all ranks together: each scores some, and all
// return the outputs of all.
func (s *Scorer) SharedExamples(ctx context.Context, c Communicator, examples []seq.Example) ([]Output, error) {
	config := s.Config()
	embeddings := config.Sequences() * config.HiddenSize
	if s.others != nil {
		embeddings = 0
	}
	numbers := func(e seq.Example) int { return config.logits(e) + embeddings }
	rows, err := shared(ctx, c, sizes(examples, numbers), func(from, to int) (rows [][]float32, err error) {
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
		n := config.logits(examples[i])
		out[i].Logits = row[:n:n]
		out[i].Embeddings = slices.Collect(slices.Chunk(row[n:], config.HiddenSize))
	}
	return out, nil
}

// CompareRanks refuses ranks that would compute other outputs, or whose data are others:
// those that the caller names, or the error of finding out.
func (s *Scorer) CompareRanks(c Communicator, data map[string]string, err error) error {
	if s.linear != nil {
		return distributed.Compare(c, nil, cmp.Or(err, errLinearRanks))
	}
	mine, failed := s.engine.identity()
	if failed == nil {
		mine["how many models there are"] = strconv.Itoa(s.Members())
	}
	for i, o := range s.others {
		if failed != nil {
			break
		}
		var other map[string]string
		other, failed = o.engine.identity()
		for name, value := range other {
			mine[fmt.Sprintf("%s, of model %d", name, i+2)] = value
		}
	}
	if failed == nil {
		maps.Copy(mine, data)
	}
	return distributed.Compare(c, mine, cmp.Or(err, failed))
}

// SharedEmbeddings is [Scorer.Embeddings] of all ranks together.
func (s *Scorer) SharedEmbeddings(ctx context.Context, c Communicator, sequences [][]int32) ([][]float32, error) {
	return shared(ctx, c, slices.Repeat([]int{s.Config().HiddenSize}, len(sequences)),
		func(from, to int) ([][]float32, error) {
			return s.Embeddings(ctx, sequences[from:to])
		})
}

// sizes are how many numbers each example has.
func sizes(examples []seq.Example, numbers func(seq.Example) int) (out []int) {
	for _, e := range examples {
		out = append(out, numbers(e))
	}
	return out
}

// shared has each rank compute a run of rows, of so many numbers each, and returns all rows to
// all.
func shared(ctx context.Context, c Communicator, numbers []int, compute func(from, to int) ([][]float32,
	error)) ([][]float32, error) {
	n, total := len(numbers), 0
	at := func(r int) int { return n * r / c.Size() }
	mine, err := compute(at(c.Rank()), at(c.Rank()+1))
	if err := agree(c, stopped(ctx, err)); err != nil {
		return nil, err
	}
	counts := make([]int, c.Size())
	for r := range counts {
		for _, m := range numbers[at(r):at(r+1)] {
			counts[r] += m
		}
		total += counts[r]
	}
	all := make([]float32, total)
	if err := c.AllGather(tensor.Bits(slices.Concat(mine...)), tensor.Bits(all), counts); err != nil {
		return nil, err
	}
	out := make([][]float32, n)
	for i, m := range numbers {
		out[i], all = all[:m:m], all[m:]
	}
	return out, nil
}
