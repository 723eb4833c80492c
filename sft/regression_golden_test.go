package sft

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sftseq/sftseq/seq"
)

// regressionFolders are of models that predict numbers: the logits and the gradient of one, and
// training steps of the other.
var regressionFolders = map[string]func(c *Config){
	"regression":       func(c *Config) { c.NumLayers, c.NumSampledTokens = 2, 7 },
	"train_regression": func(c *Config) { c.NormPosition, c.RegressionLoss = "post", Squared },
}

// writeRegression writes a golden folder with what the reference computes in float64.
func writeRegression(t *testing.T, dir string, change func(c *Config)) {
	c := goldenConfig(Regression)
	change(c)
	examples := goldenSequences()
	random := rand.New(rand.NewPCG(8, 1))
	for i := range examples {
		for _, n := range c.Numbers {
			examples[i].Numbers = append(examples[i].Numbers, float32(n.Mean+n.Deviation*random.NormFloat64()))
		}
	}
	writeGolden(t, dir, c, examples, reference.regressionLoss)
}

// regressionLoss is the mean loss of the numbers of examples, and how many there are.
func (r reference) regressionLoss(examples []seq.Example) (mean float64, terms int) {
	for _, e := range examples {
		r.row = e.Index
		logits, _ := r.example(e)
		for i, n := range r.Numbers {
			d := math.Abs(logits[i] - (float64(e.Numbers[i])-n.Mean)/n.Deviation)
			if d <= 1 || r.RegressionLoss == Squared {
				mean += d * d / 2
			} else {
				mean += d - 0.5
			}
			terms++
		}
	}
	return mean / float64(terms), terms
}
