package sft

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// SharedExamples is [Scorer.Examples], shared by all ranks: each rank scores a part of the
// examples, and every rank returns all outputs.
func (s *Scorer) SharedExamples(ctx context.Context, c Communicator, examples []seq.Example) ([]Output, error) {
	config := s.Config()
	embeddings := config.Sequences() * config.HiddenSize
	if s.others != nil {
		embeddings = 0
	}
	numbers := func(e seq.Example) int { return config.LogitCount(e) + embeddings }
	rows, err := model.Shared(ctx, c, sizes(examples, numbers), func(from, to int) (rows [][]float32, err error) {
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
		n := config.LogitCount(examples[i])
		out[i].Logits = row[:n:n]
		out[i].Numbers = outputKindOf(config).numbers(config, out[i].Logits)
		out[i].Embeddings = slices.Collect(slices.Chunk(row[n:], config.HiddenSize))
	}
	return out, nil
}

// CompareRanks returns an error if ranks would compute different outputs or have different data, or if
// a model is linear. data holds properties of the data by name; err is an error from reading the data, or nil.
func (s *Scorer) CompareRanks(c Communicator, data map[string]string, err error) error {
	isLinear := func(member *Scorer) bool { return member.linear != nil }
	if isLinear(s) || slices.ContainsFunc(s.others, isLinear) {
		return distributed.Compare(c, nil, cmp.Or(err, errLinearRanks))
	}
	identity, failed := s.runner.Identity()
	if failed == nil {
		identity["its number of models"] = strconv.Itoa(s.Members()) // compared first: keys are sorted
	}
	for i, o := range s.others {
		if failed != nil {
			break
		}
		var other map[string]string
		other, failed = o.runner.Identity()
		for name, value := range other {
			identity[fmt.Sprintf("%s, of model %d", name, i+2)] = value
		}
	}
	if failed == nil {
		maps.Copy(identity, data)
	}
	return distributed.Compare(c, identity, cmp.Or(err, failed))
}

// SharedEmbeddings is [Scorer.Embeddings], shared by all ranks.
func (s *Scorer) SharedEmbeddings(ctx context.Context, c Communicator, sequences [][]int32) ([][]float32, error) {
	return model.Shared(ctx, c, slices.Repeat([]int{s.Config().HiddenSize}, len(sequences)),
		func(from, to int) ([][]float32, error) {
			return s.Embeddings(ctx, sequences[from:to])
		})
}

// sizes returns the number of floats in the result of each example.
func sizes(examples []seq.Example, numbers func(seq.Example) int) (out []int) {
	for _, e := range examples {
		out = append(out, numbers(e))
	}
	return out
}

// Communicator connects the processes of a run, its ranks. All ranks make the same calls in the same
// order. Words have 32 bits.
type Communicator interface {
	Rank() int // from 0
	Size() int // number of ranks
	// AllGather sends the words of every rank to all ranks, in the order of ranks. counts holds the
	// number of words of each rank.
	AllGather(send, receive []uint32, counts []int) error
	// AllToAll sends the first sendCounts[0] words to rank 0, the next sendCounts[1] words to rank
	// 1, and so on. It receives receiveCounts[r] words from each rank r.
	AllToAll(send []uint32, sendCounts []int, receive []uint32, receiveCounts []int) error
}
