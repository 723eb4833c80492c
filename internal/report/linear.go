package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// linearView lists the n-grams of a sequence that contribute most to the prediction of a linear
// model.
type linearView struct {
	NGrams []nGramView
	Rest   float64     // sum of the contributions of all other n-grams
	Shared []nGramView // words that both sequences of a pair contain
}

// nGramView is the text of an n-gram and its contribution.
type nGramView struct {
	Text         string
	Contribution float64
}

// newLinearView returns a sequence as shaded text. The shade of a token is the sum of its shares of
// the contributions; each n-gram divides its contribution equally among its Places and their tokens. For
// pairs without n-grams, the shared words are shaded.
func newLinearView(t tokenizers.Tokenizer, tokens []int32, e *sft.LinearExplanation) sequenceView {
	weights := make([]float32, len(tokens))
	shaded := e.NGrams
	if len(shaded) == 0 {
		shaded = e.Shared
	}
	for _, g := range shaded {
		for _, span := range g.Places {
			tokenWeight := g.Contribution / float32(len(g.Places)) / float32(span[1]-span[0])
			for i := span[0]; i < span[1]; i++ {
				weights[i] += tokenWeight
			}
		}
	}
	largest := float32(0)
	sizes := make([]float32, len(weights))
	for i, w := range weights {
		sizes[i] = float32(math.Abs(float64(w)))
		largest = max(largest, sizes[i])
	}
	v := sequenceView{Length: len(tokens), Linear: &linearView{Rest: float64(e.Rest)}}
	v.Linear.NGrams, v.Linear.Shared = nGramViews(t, tokens, e.NGrams), nGramViews(t, tokens, e.Shared)
	v.Text, v.Part = textOf(t, tokens, shownTokens(sizes), func(from, to int, p *piece) {
		weight := slices.MaxFunc(weights[from:to], func(a, b float32) int {
			return int(math.Copysign(1, math.Abs(float64(a))-math.Abs(float64(b))))
		})
		ink := "sampled"
		if weight < 0 {
			ink = "pooling"
		}
		p.Title = fmt.Sprintf("position %d, contribution %.3g", from, weight)
		if largest > 0 {
			opacity := 0.75 * math.Abs(float64(weight/largest))
			p.Style = template.CSS("background:" + cssColor(ink, opacity))
		}
	})
	return v
}

// nGramViews returns the text and the contribution of each n-gram.
func nGramViews(t tokenizers.Tokenizer, tokens []int32, all []sft.NGramExplanation) (out []nGramView) {
	for _, g := range all {
		span := g.Places[0]
		out = append(out, nGramView{replaceControls(t.Decode(tokens[span[0]:span[1]])), float64(g.Contribution)})
	}
	return out
}
