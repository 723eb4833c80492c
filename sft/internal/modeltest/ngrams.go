package modeltest

import (
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// addNGrams copies the table of n-grams of m, if it has one, to the reference.
func (r *Reference) addNGrams(m *sft.Model) {
	if m.NGrams == nil {
		return
	}
	n := m.Config.NGrams
	o := ngram.Options{Units: n.Units, MinN: n.MinN, MaxN: n.MaxN, Slots: n.Slots, MinCount: 1}
	var err error
	if r.vocabulary, err = ngram.NewVocabulary(o, m.NGrams.Kept, m.NGrams.Used); err != nil {
		panic(err)
	}
	for _, v := range m.NGrams.Weights {
		r.Weights[model.NGramWeight] = append(r.Weights[model.NGramWeight], float64(v))
	}
}

// withNGrams adds the embeddings of the n-grams that end at the last token to x, the token's
// embedding. It divides the sum by the square root of the number of terms.
func (r Reference) withNGrams(x []float64, tokens []int32) []float64 {
	out, terms := slices.Clone(x), 1.0
	for n := r.NGrams.MinN; n <= min(r.NGrams.MaxN, len(tokens)); n++ {
		o := ngram.Options{Units: r.NGrams.Units, MinN: n, MaxN: n, Slots: r.NGrams.Slots}
		hash := ngram.NewExtractor(o).Hashes(tokens[len(tokens)-n:], nil)[0]
		if row, ok := r.vocabulary.Feature(hash); ok {
			for c := range out {
				out[c] += r.Weights[model.NGramWeight][int(row)*len(out)+c]
			}
			terms++
		}
	}
	for c := range out {
		out[c] /= math.Sqrt(terms)
	}
	return out
}
