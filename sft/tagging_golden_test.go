package sft

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sftseq/sftseq/seq"
)

// taggingFolders are of models that give each token a label: the logits and the gradient of one,
// and training steps of the other.
var taggingFolders = map[string]func(c *Config){
	"tagging":       func(c *Config) { c.NumLayers, c.NumSampledTokens = 2, 7 },
	"train_tagging": func(c *Config) { c.NormPosition = "post" },
}

// taggingWords is the tokenizer of the folders, of words with places in a text.
const taggingWords = `{"type":"words","words":["the","old","man","and","ann","lee","met","zoë","in","new","york","went","to","sea",".",","]}`

// writeTagging writes a golden folder with what the reference computes in float64. A third of
// the tokens have no label, and none of the second sequence.
func writeTagging(t *testing.T, dir string, change func(c *Config)) {
	c := goldenConfig(Tagging)
	c.Tokenizer = []byte(taggingWords)
	change(c)
	examples := goldenSequences()
	random := rand.New(rand.NewPCG(8, 2))
	for i := range examples {
		for range examples[i].A {
			label := random.Int32N(int32(c.NumLabels))
			if random.IntN(3) == 0 || i == 1 {
				label = seq.NoLabel
			}
			examples[i].Labels = append(examples[i].Labels, label)
		}
	}
	writeGolden(t, dir, c, examples, reference.taggingLoss)
}

// taggingLoss is the mean loss of the labelled tokens of examples, and how many there are.
func (r reference) taggingLoss(examples []seq.Example) (mean float64, terms int) {
	for _, e := range examples {
		r.row = e.Index
		logits := r.tokenLogits(e)
		for i, label := range e.Labels {
			if label == seq.NoLabel {
				continue
			}
			row, sum := logits[i*r.NumLabels:][:r.NumLabels], 0.0
			for _, v := range row {
				sum += math.Exp(v)
			}
			mean += math.Log(sum) - row[label]
			terms++
		}
	}
	return mean / float64(terms), terms
}

// tokenLogits are those of each token, one after another.
func (r reference) tokenLogits(e seq.Example) (logits []float64) {
	r.features, r.pairs = e.Features, pairsOf(r.Config, e)
	for _, row := range r.normed(e.A) {
		logits = append(logits, r.told(row)...)
	}
	return logits
}
