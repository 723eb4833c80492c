package sft

import (
	"math/bits"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// packed is a batch as a pass takes it: the rows of all sequences one after
// another, without padding.
type packed struct {
	counts                      tensor.Counts
	tokens, position, sequence  []int32
	offset, sampleOffset, label []int32
	example, tower              []uint32
}

// pack joins examples of one sequence, or of two. In training, a sequence's random numbers are drawn for
// its example and tower; otherwise for example 0, so that a sequence's result
// depends on nothing else.
func pack(c *Config, sequences int, examples []seq.Example, mode passMode) *packed {
	p := &packed{offset: []int32{0}, sampleOffset: []int32{0}}
	add := func(tokens []int32, index, tower uint32) {
		if mode != trainMode {
			index, tower = 0, 0
		}
		b := int32(len(p.example))
		for i := range tokens {
			p.position = append(p.position, int32(i))
			p.sequence = append(p.sequence, b)
		}
		p.tokens = append(p.tokens, tokens...)
		p.offset = append(p.offset, int32(len(p.tokens)))
		p.sampleOffset = append(p.sampleOffset, p.sampleOffset[b]+int32(min(c.NumSampledTokens, len(tokens))))
		p.example = append(p.example, index)
		p.tower = append(p.tower, tower)
		p.counts.Longest = max(p.counts.Longest, int32(len(tokens)))
	}
	for _, e := range examples {
		add(e.A, e.Index, 0)
		if sequences == 2 {
			add(e.B, e.Index, 1)
		}
		p.label = append(p.label, e.Label)
	}
	p.counts.Tokens = int32(len(p.tokens))
	p.counts.Sequences = int32(len(p.example))
	p.counts.Sampled = p.sampleOffset[len(p.example)]
	p.counts.Examples = int32(len(examples))
	return p
}

// shape is the capacity of the program that runs the batch: its size rounded
// up, so that batches of similar size share one.
func (p *packed) shape(c *Config) passShape {
	return shapeFor(c, int(p.counts.Tokens), int(p.counts.Sequences), int(p.counts.Sampled))
}

func shapeFor(c *Config, tokens, sequences, sampled int) passShape {
	sequences = max(c.Sequences(), 1<<bits.Len(uint(sequences-1)))
	return passShape{Tokens: bucket(tokens), Sequences: sequences, Sampled: bucket(sampled)}
}

// bucket rounds up to one of eight sizes between two powers of two.
func bucket(n int) int {
	step := max(64, 1<<max(0, bits.Len(uint(n))-4))
	return (n + step - 1) / step * step
}

// upload writes the batch to the inputs of a pass. Seed and step are those of
// the random numbers.
func (p *packed) upload(pass *recordedPass, m tensor.Memory, seed uint64, step uint32) error {
	b := pass.Batch
	random := []uint32{uint32(seed), uint32(seed >> 32), step}
	write := func(err error, t *tensor.Tensor, x []int32) error {
		if err != nil {
			return err
		}
		return tensor.Upload(m, t, x)
	}
	err := write(nil, pass.Program.Counts, p.counts.Words())
	err = write(err, b.Tokens, p.tokens)
	err = write(err, b.Position, p.position)
	err = write(err, b.Sequence, p.sequence)
	err = write(err, b.Offset, p.offset)
	err = write(err, b.SampleOffset, p.sampleOffset)
	err = write(err, b.Example, tensor.As[int32](p.example))
	err = write(err, b.Tower, tensor.As[int32](p.tower))
	err = write(err, b.Random, tensor.As[int32](random))
	if pass.Label != nil {
		err = write(err, pass.Label, p.label)
	}
	if pass.explained != nil && err == nil {
		err = pass.explained.upload(p, m)
	}
	return err
}
