package configtest

import (
	"math/rand/v2"
	"slices"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// RandomExamples returns one random example per length, with the labels or numbers that the task of c needs.
func RandomExamples(c *config.Config, random *rand.Rand, lengths ...int) []seq.Example {
	vocabulary := c.VocabSize
	if c.MaskTokenID != nil {
		vocabulary--
	}
	tokens := func(n int) []int32 {
		x := make([]int32, n)
		for i := range x {
			x[i] = random.Int32N(int32(vocabulary))
		}
		return x
	}
	var out []seq.Example
	for i, n := range lengths {
		e := seq.Example{Index: uint32(1000 + i), A: tokens(n), Label: random.Int32N(int32(c.NumLabels))}
		for _, n := range c.Numbers {
			e.Numbers = append(e.Numbers, float32(n.Mean+2*n.Deviation*random.NormFloat64()))
		}
		if c.Kind() == config.Tags {
			for range e.A {
				e.Labels = append(e.Labels, random.Int32N(int32(c.NumLabels)+1)-1)
			}
		}
		if c.Kind() == config.Labels {
			e.Labels = []int32{}
			for label := range int32(c.NumLabels) {
				if slices.Contains(e.A, label) {
					e.Labels = append(e.Labels, label)
				}
			}
		}
		if c.Sequences() == 2 {
			e.B = tokens(1 + random.IntN(2*n))
		}
		out = append(out, e)
	}
	return out
}
