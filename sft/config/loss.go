package config

import (
	"fmt"
	"math"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
)

// Loss identifies the loss function of a row of the head's outputs.
type Loss int

// The losses for which devices have kernels.
const (
	CrossEntropy       Loss = iota // softmax against one class
	BinaryCrossEntropy             // sigmoid of each output against a target from 0 to 1
	Huber                          // each output against a number, linear beyond [Config.HuberDelta]
)

// Loss returns the training loss of the model.
func (c *Config) Loss() Loss { return c.task().loss() }

// LossTargets returns the numbers that the loss compares with the outputs of the head; nil for
// [CrossEntropy].
func (c *Config) LossTargets(e seq.Example) []float32 { return c.task().targets(c, e) }

// LossTerms returns the number of terms of a row's loss. Reported losses are means over the terms of
// all rows.
func (c *Config) LossTerms() int {
	if c.Loss() == CrossEntropy {
		return 1
	}
	return c.NumLabels
}

// LossOf returns the loss of the head's outputs for an example, summed over its terms. The model
// must not predict per token.
func (c *Config) LossOf(head []float32, e seq.Example) (loss float64) {
	if c.Loss() == CrossEntropy {
		return metrics.CrossEntropy(head, int(e.Label))
	}
	for i, y := range c.LossTargets(e) {
		loss += c.lossTerm(float64(head[i]), float64(y))
	}
	return loss
}

// LossOfLogits is [Config.LossOf] for logits instead of the outputs of a head, for example for an
// ensemble, which has no head.
func (c *Config) LossOfLogits(logits []float32, e seq.Example) float64 {
	return c.LossOf(c.task().head(c, logits), e)
}

// lossTerm returns the loss of the head's output z with the target y.
func (c *Config) lossTerm(z, y float64) float64 {
	switch loss := c.Loss(); loss {
	case BinaryCrossEntropy:
		return max(z, 0) - z*y + math.Log1p(math.Exp(-math.Abs(z)))
	case Huber:
		d := z - y
		g := min(max(d, -c.HuberDelta()), c.HuberDelta())
		return float64(g * (d - g/2))
	default:
		panic(fmt.Sprintf("sft: the loss %d of the task %q has no case in Config.lossTerm", loss, c.Task))
	}
}
