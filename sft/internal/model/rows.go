package model

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// rows predicts an output for a whole sequence. With u its pooled row:
//
//	outputs = out(u)
//
// For a pair of sequences with pooled rows u and v:
//
//	outputs = out(GELU(hidden([u, v, u∘v, u−v])))
//
// The loss is [config.Config.Loss] of the outputs z:
//
//	cross-entropy         w_label·(log Σ_c exp(z_c) − z_label)
//	binary cross-entropy  −Σ_c (w_c·y_c·log σ(z_c) + (1 − y_c)·log(1 − σ(z_c)))
//	Huber                 Σ_c h(z_c − y_c)
//
// with y the [config.Config.LossTargets]. The sum over a batch is divided by its number of terms:
// one per example, or one per target. w_c is an element of [train.Settings.ClassWeights], or 1. h
// is [config.SmoothL1] (Girshick, "Fast R-CNN", ICCV 2015) or [config.Squared].
type rows struct{ defaultTraits }

func (rows) parameters(c *config.Config) []parameter {
	out := poolingParameters(c)
	if c.Sequences() == 2 {
		out = append(out, linearParameters(config.PartHead, "head.hidden", c.HiddenSize, 4*c.HiddenSize)...)
	}
	return append(out, linearParameters(config.PartHead, "head.out", c.NumLabels, c.HiddenSize)...)
}

func (rows) readout(m *emitter, p *recordedPass) readout { return m.pooledReadout(p) }

func (rows) head(m *emitter) head {
	if m.config.Sequences() == 2 {
		return &pairHead{linearHead: linearHead{emitter: m}}
	}
	return &linearHead{emitter: m}
}

func (rows) loss(m *emitter, p *recordedPass) *tensor.Tensor {
	if m.config.Loss() == config.CrossEntropy {
		return crossEntropy(m, p)
	}
	axis, rows, n := p.Logits.Rows, p.Logits.Shape[0], m.config.NumLabels
	p.Target = m.Input("target", axis, rows, n)
	if m.config.Loss() == config.BinaryCrossEntropy {
		p.Positive = m.Input("positive", tensor.Fixed, n)
	}
	p.Scale = m.Input("loss.scale", tensor.Fixed, n)
	p.Loss = m.Temp("loss", axis, rows)
	dlogits := m.like(p.Logits, "logits.grad")
	switch loss := m.config.Loss(); loss {
	case config.BinaryCrossEntropy:
		m.Launch(tensor.BinaryCrossEntropy{Loss: p.Loss, DLogits: dlogits, Logits: p.Logits, Target: p.Target,
			Positive: p.Positive, Scale: p.Scale})
	case config.Huber:
		m.Launch(tensor.Huber{Loss: p.Loss, DLogits: dlogits, Logits: p.Logits, Target: p.Target, Scale: p.Scale,
			Delta: float32(m.config.HuberDelta())})
	default:
		panic(fmt.Sprintf("model: the loss %d of the task %q has no kernel in rows.loss", loss, m.config.Task))
	}
	return dlogits
}

func (rows) Divisor(c *config.Config, batch []seq.Example, _ Drawing) int {
	return len(batch) * c.LossTerms()
}

func (rows) evaluation() PassMode { return InferMode }

// lossFactors weights classes, or the terms of positive labels.
func (rows) lossFactors(c *config.Config, scale float64, weight []float64) LossFactors {
	if c.Loss() == config.BinaryCrossEntropy {
		return LossFactors{lossScales(c.NumLabels, scale, nil), lossScales(c.NumLabels, 1, weight)}
	}
	return defaultTraits{}.lossFactors(c, scale, weight)
}

// adopt changes the last layer so that it predicts the same numbers in the units of the data. The
// source standardised numbers by means μ and deviations σ, and c by μ' and σ': weights become
// w·σ/σ', biases (b·σ + μ − μ')/σ'.
func (rows) adopt(c *config.Config, params *config.Parameters, weights []float32, source *config.Config) {
	slice := func(name string) []float32 {
		p, _ := params.Lookup(name)
		return params.Slice(weights, p)
	}
	weight, bias := slice("head.out.weight"), slice("head.out.bias")
	width := len(weight) / len(bias)
	for i, to := range c.Numbers {
		from := source.Numbers[i]
		if from.Mean == to.Mean && from.Divisor() == to.Divisor() {
			continue // rounding must not change the bias
		}
		bias[i] = float32((float64(bias[i])*from.Divisor() + from.Mean - to.Mean) / to.Divisor())
		row, scale := weight[i*width:(i+1)*width], from.Divisor()/to.Divisor()
		for j, w := range row {
			row[j] = float32(float64(w) * scale)
		}
	}
}
