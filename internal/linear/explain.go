package linear

import (
	"cmp"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/pairs"
	"github.com/sftseq/sftseq/seq"
)

// Limits of an [Explanation].
const (
	MaxExplained = 32 // n-grams
	MaxPlaces    = 8  // token ranges per n-gram
)

// Explanation lists the n-grams of a sequence with the largest contributions to an output, by
// descending absolute contribution.
type Explanation struct {
	NGrams []NGram
	// Rest is the sum of the contributions of all other n-grams. The contributions and rests of all
	// sequences add up to the output minus the output of a row without n-grams. For a model of
	// pairs, both outputs are the weighted outputs of the n-grams alone.
	Rest float64
	// Shared lists the words or tokens that both sequences of a pair have, by descending
	// contribution to the cosine. Both sequences have the same list, each with the token ranges in
	// its own sequence.
	Shared []NGram
}

// NGram holds the token ranges and the contribution of an n-gram of a sequence.
type NGram struct {
	Places       [][2]int // first occurrences, as ranges of tokens [from, to)
	Contribution float64
}

// Explain explains an output of a row: a logit, or a number in its own units. It returns an
// explanation for each sequence of the row. For two classes, the output is the logit of the class
// minus the logit of the other class. N-grams with the same slot count as one.
func (p *Predictor) Explain(e *seq.Example, output int) []Explanation {
	sides := [][]int32{e.A}
	if e.B != nil {
		sides = append(sides, e.B)
	}
	out := make([]Explanation, len(sides))
	if p.nGramLogits(e); len(p.features) > 0 {
		p.explainNGrams(sides, output, out)
	}
	if p.pairs != nil && len(sides) == 2 {
		for _, s := range p.pairs.Shared(e.A, e.B, MaxExplained, MaxPlaces) {
			for side, places := range s.Places {
				out[side].Shared = append(out[side].Shared, NGram{places, s.Contribution})
			}
		}
	}
	return out
}

// explainNGrams sets the contributions of n-grams to an output.
func (p *Predictor) explainNGrams(sides [][]int32, output int, out []Explanation) {
	m := p.model
	column, scale := output, float64(ratioUnit)/weightUnit
	switch c := &m.Config; {
	case len(c.Numbers) > 0:
		scale *= c.Numbers[output].Deviation
	case len(p.sums) < c.Outputs():
		if column = 0; output == 0 {
			scale = -scale
		}
	}
	if m.pairs != nil {
		scale *= m.Config.Pairs.Weights[pairs.OfNGrams]
	}
	scale /= math.Sqrt(max(1, float64(p.sums[column].squares)))
	sideOf, indexOf := map[uint32]int{}, map[uint32]int{} // side of each feature, and index of its n-gram in this side
	for side, tokens := range sides {
		x := &out[side]
		p.extractor.Located(tokens, side, func(h uint64, from, to int) {
			f, ok := m.vocabulary.Feature(h)
			if !ok {
				return
			}
			if other, found := sideOf[f]; found && other != side {
				return
			} else if !found {
				sideOf[f], indexOf[f] = side, len(x.NGrams)
				weight := float64(m.cells[int(f)*len(p.sums)+column].weight)
				x.NGrams = append(x.NGrams, NGram{nil, weight * scale})
			}
			if g := &x.NGrams[indexOf[f]]; len(g.Places) < MaxPlaces {
				g.Places = append(g.Places, [2]int{from, to})
			}
		})
	}
	for side := range out {
		x := &out[side]
		slices.SortStableFunc(x.NGrams, func(a, b NGram) int {
			return cmp.Compare(math.Abs(b.Contribution), math.Abs(a.Contribution))
		})
		for _, g := range x.NGrams[min(MaxExplained, len(x.NGrams)):] {
			x.Rest += g.Contribution
		}
		x.NGrams = slices.Clip(x.NGrams[:min(MaxExplained, len(x.NGrams))])
	}
}
