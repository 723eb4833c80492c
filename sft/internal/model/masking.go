package model

import (
	"slices"

	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// Fractions of the target tokens that are replaced by the mask and by a random token. The other
// targets stay unchanged: otherwise a model would learn nothing about tokens that are not masked.
const (
	replaceByMask   = 0.8
	replaceByRandom = 0.1
)

// targetsReplaceByMask is the fraction replaced by the mask if targets are classes instead of tokens.
// It is lower because a visible token does not reveal its class, and the model should also predict
// classes of visible tokens.
const targetsReplaceByMask = 0.1

// replacementRates returns the fractions of the target tokens that are replaced by the mask and by
// a random token.
func replacementRates(c *config.Config) (asMask, asAny float32) {
	if c.MaskTargets != nil {
		return targetsReplaceByMask, 0
	}
	return replaceByMask, replaceByRandom
}

// Drawing determines the random numbers of a pass, together with the example and the position in
// it.
type Drawing struct {
	Mode PassMode
	Seed uint64
	Step uint32
}

// mask returns the random counter for masking the tokens of a row. In an evaluation it does not
// depend on the step, so that evaluations are comparable.
func (d Drawing) mask(row uint32) [4]uint32 {
	if d.Mode == TrainMode {
		return philox.Counter(0, 0, 0, philox.StreamMask, row, d.Step)
	}
	return philox.Counter(0, 0, 0, philox.StreamMaskEvaluation, row, 0)
}

// maskedPositions returns the positions of the target tokens of a row of n tokens, ascending, at
// least one. They form spans. With r [config.Config.MaskRate] and s [config.Config.MaskSpan], a
// span that covers position t continues to t+1 with probability 1 − 1/s. Where no span continues, a
// new span begins with probability p. Lengths of spans are then geometric with mean s. If the
// previous position is covered with probability r, a position is covered with probability
//
//	r = r·(1 − 1/s) + (1 − r·(1 − 1/s))·p,  p = r/(s − r·(s−1)),
//
// and the first position is covered with probability r. With s = 1 positions are independent. The
// random numbers depend only on the seed, the row and the position, in training also on the step.
//
// Source: Joshi et al., "SpanBERT: Improving Pre-training by Representing and Predicting
// Spans", TACL 2020 (spans of geometric lengths).
func maskedPositions(c *config.Config, n int, row uint32, d Drawing) (positions []int32) {
	r, s := c.MaskRate, c.MaskSpan
	continues := float32(1 - 1/s)
	begins := float32(r / (s - float64(r*(s-1))))
	counter := d.mask(row)
	covered := false
	for t := range n {
		counter[0] = uint32(t)
		w := philox.Words(d.Seed, counter)
		switch {
		case t == 0:
			covered = philox.Uniform(w[1]) < float32(r)
		case covered && philox.Uniform(w[0]) < continues:
		default:
			covered = philox.Uniform(w[1]) < begins
		}
		if covered {
			positions = append(positions, int32(t))
		}
	}
	if len(positions) == 0 {
		counter[0] = uint32(n) // no position has the index n
		positions = append(positions, int32(uint64(philox.Words(d.Seed, counter)[0])*uint64(n)>>32))
	}
	return positions
}

// MaskTokens returns the tokens of a row after masking, and the positions of the target tokens.
func MaskTokens(c *config.Config, tokens []int32, row uint32, d Drawing) (masked, positions []int32) {
	masked, positions = slices.Clone(tokens), maskedPositions(c, len(tokens), row, d)
	asMask, asAny := replacementRates(c)
	counter := d.mask(row)
	for _, t := range positions {
		counter[0] = uint32(t)
		w := philox.Words(d.Seed, counter)
		switch u := philox.Uniform(w[2]); {
		case u < asMask:
			masked[t] = *c.MaskTokenID
		case u < asMask+asAny:
			masked[t] = RandomToken(c, w[3])
		}
	}
	return masked, positions
}

// Masks returns the positions of mask tokens.
func Masks(c *config.Config, tokens []int32) (positions []int32) {
	for i, token := range tokens {
		if c.MaskTokenID != nil && token == *c.MaskTokenID {
			positions = append(positions, int32(i))
		}
	}
	return positions
}

// Masked returns the targets of an example in an evaluation: its masked tokens, or their classes if
// c has [config.Config.MaskTargets]. The random numbers of the masked positions depend only on
// [config.Config.SamplerSeed] and the example's row.
func Masked(c *config.Config, e seq.Example) []int32 {
	if len(e.A) == 0 {
		return nil
	}
	return TokenTargets(c, e.A, maskedPositions(c, len(e.A), e.Index, Drawing{Mode: LossMode, Seed: c.SamplerSeed}))
}

// TokenTargets returns the targets at the given positions of a sequence.
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

// RandomToken maps a random word to a uniform token of the vocabulary, excluding the padding and
// the mask, which is the last token.
func RandomToken(c *config.Config, word uint32) int32 {
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

// Targets returns the target of each token of an example.
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
