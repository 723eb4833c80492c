package model

import (
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// Objective records the outputs and the loss of a [config.Kind] in a pass.
type Objective interface {
	// parameters returns the parameters after the layers, for readout and head.
	parameters(c *config.Config) []parameter
	readout(m *emitter, p *recordedPass) readout
	head(m *emitter) head
	// loss records the loss of the pass's logits and returns their gradient.
	loss(m *emitter, p *recordedPass) (dlogits *tensor.Tensor)
	// Divisor returns the divisor of the summed loss of a batch.
	Divisor(c *config.Config, batch []seq.Example, d Drawing) int
	// evaluation returns the mode of the passes that measure a split.
	evaluation() PassMode
	objectiveTraits
}

// tokenObjective is an objective whose head reads the rows of tokens.
type tokenObjective interface {
	Objective
	// targets returns the tokens of an example that the model reads, and the label of each token;
	// [seq.NoLabel] for tokens that are not targets. Without targets labels is nil.
	targets(c *config.Config, e seq.Example, d Drawing) (input, labels []int32)
}

// objectiveTraits holds the methods that most objectives share: see [defaultTraits].
type objectiveTraits interface {
	// read returns the number of rows of pooled sequences and of logits to download after a pass.
	read(p *recordedPass, b *packed) (pooled, logits int)
	// targetCapacity returns the number of target tokens for which a pass has room.
	targetCapacity(c *config.Config, tokens, sequences int) int
	// lossFactors combines a loss scale and the weights of classes or labels.
	lossFactors(c *config.Config, scale float64, weight []float64) LossFactors
	// weightLosses multiplies the losses of tokens by the weights of their tags. It does nothing for
	// objectives other than tagging.
	weightLosses(b *packed, losses []float32, weight []float64)
	// adopt converts the head of weights, which were copied from a model with the configuration
	// source, for a model with the configuration c.
	adopt(c *config.Config, p *config.Parameters, weights []float32, source *config.Config)
}

// defaultTraits implements objectiveTraits for most objectives.
type defaultTraits struct{}

func (defaultTraits) targetCapacity(*config.Config, int, int) int { return 0 }

func (defaultTraits) lossFactors(c *config.Config, scale float64, weight []float64) LossFactors {
	return LossFactors{scale: lossScales(c.NumLabels, scale, weight)}
}

func (defaultTraits) weightLosses(*packed, []float32, []float64) {}

func (defaultTraits) adopt(*config.Config, *config.Parameters, []float32, *config.Config) {}

// read counts one pooled row per sequence and one row of logits per example.
func (defaultTraits) read(_ *recordedPass, b *packed) (pooled, logits int) {
	return len(b.example), int(b.counts.Examples)
}

// readout maps the rows of tokens after the last layer to the rows that the head reads, and back
// for gradients.
type readout interface {
	forward(x *tensor.Tensor) *tensor.Tensor
	backward(dy *tensor.Tensor) (dx *tensor.Tensor)
}

// head maps rows to logits, and back for gradients.
type head interface {
	forward(rows *tensor.Tensor) (logits *tensor.Tensor)
	backward(dlogits *tensor.Tensor) (drows *tensor.Tensor)
}

// Objectives maps each kind of prediction to its objective.
var Objectives = map[config.Kind]Objective{
	config.Classes:      rows{},
	config.Labels:       rows{},
	config.Numbers:      rows{},
	config.Tags:         tagging{},
	config.MaskedTokens: fillMask{},
}

// objectiveOf returns the objective of a model's task, which [config.Config.Validate] has checked.
func objectiveOf(c *config.Config) Objective { return Objectives[c.Kind()] }

// RowLogits returns the number of logits of a prediction, or 0 if it depends on the example.
func RowLogits(c *config.Config) int {
	if c.MasksTokens() || c.PerToken() {
		return 0
	}
	return c.NumLabels
}

// EvaluationMode returns the mode of the passes that measure a split.
func EvaluationMode(c *config.Config) PassMode { return objectiveOf(c).evaluation() }

// LossDivisor returns the divisor of the summed loss of a batch.
func LossDivisor(c *config.Config, batch []seq.Example, d Drawing) int {
	return objectiveOf(c).Divisor(c, batch, d)
}

// LossFactorsOf combines a loss scale and the weights of classes or labels.
func LossFactorsOf(c *config.Config, scale float64, weight []float64) LossFactors {
	return objectiveOf(c).lossFactors(c, scale, weight)
}

// Adopt converts the head of weights, which were copied from a model with the configuration source, for
// a model with the configuration c.
func Adopt(c *config.Config, p *config.Parameters, weights []float32, source *config.Config) {
	objectiveOf(c).adopt(c, p, weights, source)
}

// LossFactors holds the factors that the loss kernels read.
type LossFactors struct {
	scale    []float32 // factor of the gradient per class, label or number
	positive []float32 // weight of each label's loss term if the label is positive; only for multi-label
}

// lossScales returns the scale times the weight of each class or label; nil weights are 1.
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
