package sft

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/seq"
)

// multiLabelFolders are of models of several labels: the logits and the gradient of one, and
// training steps of the other.
var multiLabelFolders = map[string]func(c *Config){
	"multilabel": func(c *Config) {
		c.NumLayers, c.NumSampledTokens, c.Thresholds = 2, 7,
			[]float64{0.25, 0.5, 0.75}
	},
	"train_multilabel": func(c *Config) { c.NormPosition = "post" },
}

// writeMultiLabel writes a golden folder with what the reference computes in float64.
func writeMultiLabel(t *testing.T, dir string, change func(c *Config)) {
	c := goldenConfig(MultiLabel)
	change(c)
	examples := goldenSequences()
	random := rand.New(rand.NewPCG(9, 1))
	for i := range examples {
		examples[i].Labels = []int32{}
		for label := range int32(c.NumLabels) {
			if random.IntN(2) == 0 {
				examples[i].Labels = append(examples[i].Labels, label)
			}
		}
	}
	writeGolden(t, dir, c, examples, reference.multiLabelLoss)
}

func (r reference) multiLabelLoss(examples []seq.Example) (mean float64, terms int) {
	return r.weightedMultiLabelLoss(examples, slices.Repeat([]float64{1}, r.NumLabels))
}

// weightedMultiLabelLoss is the mean loss of the labels of examples, and how many there are. The
// term of a label that holds has a weight.
func (r reference) weightedMultiLabelLoss(examples []seq.Example, weight []float64) (mean float64, terms int) {
	for _, e := range examples {
		r.row = e.Index
		logits, _ := r.example(e)
		for label, z := range logits {
			p := 1 / (1 + math.Exp(-z))
			if slices.Contains(e.Labels, int32(label)) {
				mean -= weight[label] * math.Log(p)
			} else {
				mean -= math.Log(1 - p)
			}
			terms++
		}
	}
	return mean / float64(terms), terms
}
