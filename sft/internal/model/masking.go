package model

import (
	"slices"

	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// Fractions of the target tokens that are replaced by the mask and by a random token. The others stay unchanged, or a
// model would learn nothing about tokens that are not masked.
const (
	readAsMask = 0.8
	readAsAny  = 0.1
)

// targetsReadAsMask is lower because a visible token does not give a target away that is not the token itself, and the
// model should predict targets of visible tokens.
const targetsReadAsMask = 0.1

// readShares are the fractions of the target tokens that are replaced by the mask and by a random token.
func readShares(c *config.Config) (asMask, asAny float32) {
	if c.MaskTargets != nil {
		return targetsReadAsMask, 0
	}
	return readAsMask, readAsAny
}

// Drawing is what the random numbers of a pass are drawn for, beside the example and the
// place in it.
type Drawing struct {
	Mode PassMode
	Seed uint64
	Step uint32
}

// mask is the counter of what happens to the tokens of a row. An evaluation draws the same
// at every step, so that two of them compare.
func (d Drawing) mask(row uint32) [4]uint32 {
	if d.Mode == TrainMode {
		return philox.Counter(0, 0, 0, philox.StreamMask, row, d.Step)
	}
	return philox.Counter(0, 0, 0, philox.StreamMaskEvaluation, row, 0)
}

// maskedPositions are the positions of the target tokens of a row of n tokens, ascending, at least one. They form
// spans: with r [config.Config.MaskRate] and s [config.Config.MaskSpan], a span that covers position t goes on to t+1
// with probability 1 − 1/s, and where none does, another begins with probability p. So the lengths of spans are
// geometric with mean s. A position is covered with probability r if the one before is and
//
//	r = r·(1 − 1/s) + (1 − r·(1 − 1/s))·p,  p = r/(s − r·(s−1)),
//
// and the first is with probability r. With s = 1 positions are independent. All follows from
// (seed, row, step, position) alone.
//
// Source: Joshi et al., "SpanBERT: Improving Pre-training by Representing and Predicting
// Spans", TACL 2020 (spans of geometric lengths).
func maskedPositions(c *config.Config, n int, row uint32, d Drawing) (positions []int32) {
	r, s := c.MaskRate, c.MaskSpan
	goesOn := float32(1 - 1/s)
	begins := float32(r / (s - float64(r*(s-1))))
	counter := d.mask(row)
	covered := false
	for t := range n {
		counter[0] = uint32(t)
		w := philox.Words(d.Seed, counter)
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
		counter[0] = uint32(n) // not a position: those are below n
		positions = append(positions, int32(uint64(philox.Words(d.Seed, counter)[0])*uint64(n)>>32))
	}
	return positions
}

// MaskTokens returns a row as a pass reads it, and the positions of the target tokens.
func MaskTokens(c *config.Config, tokens []int32, row uint32, d Drawing) (read, positions []int32) {
	read, positions = slices.Clone(tokens), maskedPositions(c, len(tokens), row, d)
	asMask, asAny := readShares(c)
	counter := d.mask(row)
	for _, t := range positions {
		counter[0] = uint32(t)
		w := philox.Words(d.Seed, counter)
		switch u := philox.Uniform(w[2]); {
		case u < asMask:
			read[t] = *c.MaskTokenID
		case u < asMask+asAny:
			read[t] = AnyToken(c, w[3])
		}
	}
	return read, positions
}

// Masks are the positions of the tokens that are the mask.
func Masks(c *config.Config, tokens []int32) (positions []int32) {
	for i, token := range tokens {
		if c.MaskTokenID != nil && token == *c.MaskTokenID {
			positions = append(positions, int32(i))
		}
	}
	return positions
}

// Masked are the targets of an example in an evaluation: its masked tokens, or their classes by
// [config.Config.MaskTargets]. They are the same at every step and follow from [config.Config.SamplerSeed] and the
// example's row.
func Masked(c *config.Config, e seq.Example) []int32 {
	if len(e.A) == 0 {
		return nil
	}
	return TokenTargets(c, e.A, maskedPositions(c, len(e.A), e.Index, Drawing{Mode: LossMode, Seed: c.SamplerSeed}))
}

// TokenTargets are the targets at positions of a sequence.
func TokenTargets(c *config.Config, tokens, positions []int32) []int32 {
	if c.MaskTargets != nil {
		return c.MaskTargets.At(tokens, positions)
	}
	out := make([]int32, len(positions))
	for i, p := range positions {
		out[i] = tokens[p]
	}
	return out
}

// AnyToken is a token of the vocabulary by a random word, uniformly: neither the padding
// nor the mask, which is the last.
func AnyToken(c *config.Config, word uint32) int32 {
	n := c.VocabSize
	if c.MaskTokenID != nil {
		n--
	}
	if c.PadTokenID != nil {
		n--
	}
	token := int32(uint64(word) * uint64(n) >> 32)
	if c.PadTokenID != nil && token >= *c.PadTokenID {
		token++
	}
	return token
}

// Targets is what a model of masked tokens would predict of each token of an example.
func Targets(c *config.Config, e seq.Example) []int32 {
	if c.MaskTargets == nil || len(e.A) == 0 {
		return e.A
	}
	all := make([]int32, len(e.A))
	for i := range all {
		all[i] = int32(i)
	}
	return TokenTargets(c, e.A, all)
}
