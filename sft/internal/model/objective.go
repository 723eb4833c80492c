package model

import (
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// Objective is how a pass computes the outputs and the loss of a [config.Kind].
type Objective interface {
	// pack adds the labels of an example to a batch, before its tokens, and returns the tokens that are read of its
	// first sequence.
	pack(p *packed, c *config.Config, e seq.Example, d Drawing) (tokens []int32)
	// parameters are those behind the layers, which readout and head record.
	parameters(c *config.Config) []parameter
	readout(m *emitter, p *recordedPass) readout
	head(m *emitter) head
	// loss records the loss of the pass's logits, and returns the gradient of its sum.
	loss(m *emitter, p *recordedPass) (dlogits *tensor.Tensor)
	// divisor is what the sum over a batch is divided by.
	Divisor(c *config.Config, batch []seq.Example, d Drawing) int
	// evaluation is the mode of the passes that measure a split.
	evaluation() PassMode
	objectiveTraits
}

// objectiveTraits are the differences between objectives that [ofRows] has for most.
type objectiveTraits interface {
	// read returns how many rows of pooled sequences and of logits are results of a pass.
	read(p *recordedPass, b *packed) (pooled, logits int)
	// targetCapacity is the number of tokens with a loss for which a pass has room.
	targetCapacity(c *config.Config, tokens, sequences int) int
	// lossFactors are those of a scale and of the weights of classes or labels.
	lossFactors(c *config.Config, scale float64, weight []float64) LossFactors
	// weigh multiplies losses by the weights of labels, if the loss kernel has not.
	weigh(b *packed, losses []float32, weight []float64)
	// adopt has new weights continue with the head of a model of another configuration.
	adopt(c *config.Config, p *config.Parameters, weights []float32, source *config.Config)
}

// ofRows are the traits of most objectives.
type ofRows struct{}

func (ofRows) targetCapacity(*config.Config, int, int) int { return 0 }

func (ofRows) lossFactors(c *config.Config, scale float64, weight []float64) LossFactors {
	return LossFactors{scale: lossScales(c.NumLabels, scale, weight)}
}

func (ofRows) weigh(*packed, []float32, []float64) {}

func (ofRows) adopt(*config.Config, *config.Parameters, []float32, *config.Config) {}

// read has a row of each for every sequence and example.
func (ofRows) read(_ *recordedPass, b *packed) (pooled, logits int) {
	return len(b.example), int(b.counts.Examples)
}

// readout turns the rows of tokens, the last layer's, into those that the head reads, and
// back their gradients.
type readout interface {
	forward(x *tensor.Tensor) *tensor.Tensor
	backward(dy *tensor.Tensor) (dx *tensor.Tensor)
}

// head turns rows into logits, and back their gradients.
type head interface {
	forward(rows *tensor.Tensor) (logits *tensor.Tensor)
	backward(dlogits *tensor.Tensor) (drows *tensor.Tensor)
}

// Objectives are the objectives of the kinds of predictions.
var Objectives = map[config.Kind]Objective{
	config.Classes:      rows{},
	config.Labels:       rows{},
	config.Numbers:      rows{},
	config.Tags:         tagging{},
	config.MaskedTokens: fillMask{},
}

// objectiveOf is that of a model, whose task [config.Config.Validate] has found to be one.
func objectiveOf(c *config.Config) Objective { return Objectives[c.Kind()] }

// RowLogits is how many logits the answer to an example has, where all have the same number; otherwise 0.
func RowLogits(c *config.Config) int {
	if c.MasksTokens() || c.PerToken() {
		return 0
	}
	return c.NumLabels
}

// EvaluationMode is the mode of the passes that measure a split.
func EvaluationMode(c *config.Config) PassMode { return objectiveOf(c).evaluation() }

// LossDivisor is what the sum of the losses of a batch is divided by.
func LossDivisor(c *config.Config, batch []seq.Example, d Drawing) int {
	return objectiveOf(c).Divisor(c, batch, d)
}

// LossFactorsOf are the factors of the loss by a scale and the weights of classes or labels.
func LossFactorsOf(c *config.Config, scale float64, weight []float64) LossFactors {
	return objectiveOf(c).lossFactors(c, scale, weight)
}

// Adopt has new weights continue with the head of a model of another configuration.
func Adopt(c *config.Config, p *config.Parameters, weights []float32, source *config.Config) {
	objectiveOf(c).adopt(c, p, weights, source)
}

// LossFactors are those of the loss whose gradient a pass computes.
type LossFactors struct {
	scale    []float32 // by class, or label
	positive []float32 // weights of the positive terms of multi-label losses
}

// lossScales is the factor of the loss of each class.
func lossScales(classes int, scale float64, weight []float64) []float32 {
	out := make([]float32, classes)
	for c := range out {
		out[c] = float32(scale)
		if len(weight) > 0 {
			out[c] = float32(scale * weight[c])
		}
	}
	return out
}
