package sft

import (
	"slices"

	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/seq"
)

// What a model that fills masks begins with, where nothing else is said. A masked byte is
// told by its two neighbours too easily, so that of small tokens spans are masked.
const (
	maskRate        = 0.15
	smallTokens     = 1024 // a vocabulary of at most so many
	smallTokensSpan = 3
)

// Fewer tokens, or longer spans, teach nothing, and passes have room for as many as are to be
// expected.
const (
	leastMaskRate = 0.001
	mostMaskSpan  = 1000
)

// Of the tokens to be told, so many are read as the mask and so many as any token. The rest
// are read as they are, or a model would learn nothing of tokens that are not masked.
const (
	readAsMask = 0.8
	readAsAny  = 0.1
)

// Where something else than the token itself is told, seeing the token gives nothing away, and
// a model should tell it of tokens that it sees: more are told, and few read as the mask.
const (
	targetsMaskRate   = 0.5
	targetsReadAsMask = 0.1
)

// read are the shares of the tokens to be told that are read as the mask and as any token.
func (c *Config) read() (asMask, asAny float32) {
	if c.MaskTargets != nil {
		return targetsReadAsMask, 0
	}
	return readAsMask, readAsAny
}

// drawing is what the random numbers of a pass are drawn for, beside the example and the
// place in it.
type drawing struct {
	mode passMode
	seed uint64
	step uint32
}

// mask is the counter of what happens to the tokens of a row. An evaluation draws the same
// at every step, so that two of them compare.
func (d drawing) mask(row uint32) [4]uint32 {
	if d.mode == trainMode {
		return philox.Counter(0, 0, 0, philox.StreamMask, row, d.step)
	}
	return philox.Counter(0, 0, 0, philox.StreamMaskEvaluation, row, 0)
}

// maskedPositions are those of the tokens to be told of a row of so many, ascending, at least
// one. They are spans: with r [Config.MaskRate] and s [Config.MaskSpan], a span that covers
// position t goes on to t+1 with probability 1 − 1/s, and where none does, another begins with
// probability p. So the lengths of spans are geometric with mean s. A position is covered with
// probability r if the one before is and
//
//	r = r·(1 − 1/s) + (1 − r·(1 − 1/s))·p,  p = r/(s − r·(s−1)),
//
// and the first is with probability r. With s = 1 positions are independent. All follows from
// (seed, row, step, position) alone.
//
// Source: Joshi et al., "SpanBERT: Improving Pre-training by Representing and Predicting
// Spans", TACL 2020 (spans of geometric lengths).
func (c *Config) maskedPositions(n int, row uint32, d drawing) (positions []int32) {
	r, s := c.MaskRate, c.MaskSpan
	goesOn := float32(1 - 1/s)
	begins := float32(r / (s - float64(r*(s-1))))
	counter := d.mask(row)
	covered := false
	for t := range n {
		counter[0] = uint32(t)
		w := philox.Words(d.seed, counter)
		switch {
		case t == 0:
			covered = philox.Uniform(w[1]) < float32(r)
		case covered && philox.Uniform(w[0]) < goesOn:
		default:
			covered = philox.Uniform(w[1]) < begins
		}
		if covered {
			positions = append(positions, int32(t))
		}
	}
	if len(positions) == 0 {
		counter[0] = uint32(n) // of no position
		positions = append(positions, int32(uint64(philox.Words(d.seed, counter)[0])*uint64(n)>>32))
	}
	return positions
}

// masked is a row as a pass reads it, and the positions of the tokens to be told.
func (c *Config) masked(tokens []int32, row uint32, d drawing) (read, positions []int32) {
	read, positions = slices.Clone(tokens), c.maskedPositions(len(tokens), row, d)
	asMask, asAny := c.read()
	counter := d.mask(row)
	for _, t := range positions {
		counter[0] = uint32(t)
		w := philox.Words(d.seed, counter)
		switch u := philox.Uniform(w[2]); {
		case u < asMask:
			read[t] = *c.MaskTokenID
		case u < asMask+asAny:
			read[t] = c.anyToken(w[3])
		}
	}
	return read, positions
}

// masks are the positions of the tokens that are the mask.
func (c *Config) masks(tokens []int32) (positions []int32) {
	for i, token := range tokens {
		if c.MaskTokenID != nil && token == *c.MaskTokenID {
			positions = append(positions, int32(i))
		}
	}
	return positions
}

// Masked is what an evaluation has a model of masked tokens tell of an example, the tokens
// themselves unless it has [Config.MaskTargets]: the same at every step, by
// [Config.SamplerSeed] and the example's row.
func (c *Config) Masked(e seq.Example) []int32 {
	if len(e.A) == 0 {
		return nil
	}
	return c.told(e.A, c.maskedPositions(len(e.A), e.Index, drawing{mode: lossMode, seed: c.SamplerSeed}))
}

// Targets is what a model of masked tokens would tell of each token of an example.
func (c *Config) Targets(e seq.Example) []int32 {
	if c.MaskTargets == nil || len(e.A) == 0 {
		return e.A
	}
	all := make([]int32, len(e.A))
	for i := range all {
		all[i] = int32(i)
	}
	return c.told(e.A, all)
}
