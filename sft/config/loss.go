package config

import (
	"math"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
)

// Loss is the loss of the outputs of the head, a row of them.
type Loss int

// The losses that models have kernels for.
const (
	CrossEntropy       Loss = iota // softmax against one class
	BinaryCrossEntropy             // sigmoid of each output against a target from 0 to 1
	Huber                          // each output against a number, linear beyond [Config.HuberDelta]
)

// Loss is the loss that the model is trained with.
func (c *Config) Loss() Loss { return c.task().loss() }

// LossTargets returns the numbers that the loss compares the outputs of the head with; nil for [CrossEntropy].
func (c *Config) LossTargets(e seq.Example) []float32 { return c.task().targets(c, e) }

// LossTerms is the number of terms of the loss of a row. Losses are means over the terms.
func (c *Config) LossTerms() int {
	if c.Loss() == CrossEntropy {
		return 1
	}
	return c.NumLabels
}

// LossOf is the loss of the outputs of the head for an example of a model that does not predict for each token, summed
// over its terms.
func (c *Config) LossOf(head []float32, e seq.Example) (loss float64) {
	if c.Loss() == CrossEntropy {
		return metrics.CrossEntropy(head, int(e.Label))
	}
	for i, y := range c.LossTargets(e) {
		if c.Loss() == Huber {
			d := float64(head[i]) - float64(y)
			g := min(max(d, -c.HuberDelta()), c.HuberDelta())
			loss += float64(g * (d - g/2))
			continue
		}
		z := float64(head[i])
		loss += max(z, 0) - z*float64(y) + math.Log1p(math.Exp(-math.Abs(z)))
	}
	return loss
}
