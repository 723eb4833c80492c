package model

import (
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// multiLabel tells which labels of a sequence hold, of which any number may, with u its pooled
// row and y_c = 1 where label c holds, 0 otherwise:
//
//	logits      = out(u)
//	probability = σ(logits)
//	loss        = −Σ_c w_c·y_c·log σ(logits_c) + (1 − y_c)·log(1 − σ(logits_c))
//
// divided by the labels of all examples of the batch. w_c is that of [train.Settings.ClassWeights], 1
// without. A label is answered where its probability reaches its threshold: [config.Config.Threshold].
type multiLabel struct{ ofRows }

func (multiLabel) parameters(c *config.Config) []parameter { return classification{}.parameters(c) }

func (multiLabel) readout(m *emitter, p *recordedPass) readout { return m.pooled(p) }

func (multiLabel) head(m *emitter) head { return &linearHead{emitter: m} }

func (multiLabel) loss(m *emitter, p *recordedPass) *tensor.Tensor {
	axis, rows, n := p.Logits.Rows, p.Logits.Shape[0], m.config.NumLabels
	p.Target = m.Input("target", axis, rows, n)
	p.Positive = m.Input("positive", tensor.Fixed, n)
	p.Scale = m.Input("loss.scale", tensor.Fixed, n)
	p.Loss = m.Temp("loss", axis, rows)
	dlogits := m.like(p.Logits, "logits.grad")
	m.Launch(tensor.BinaryCrossEntropy{Loss: p.Loss, DLogits: dlogits, Logits: p.Logits, Target: p.Target,
		Positive: p.Positive, Scale: p.Scale})
	return dlogits
}

// LabelTargets has for each label 1 where it holds of an example, and 0 where it does not.
func LabelTargets(c *config.Config, e seq.Example) []float32 {
	out := make([]float32, c.NumLabels)
	for _, label := range e.Labels {
		out[label] = 1
	}
	return out
}

func (multiLabel) Divisor(c *config.Config, batch []seq.Example, _ Drawing) int {
	return len(batch) * c.NumLabels
}

func (multiLabel) evaluation() PassMode { return InferMode }

func (multiLabel) pack(p *packed, c *config.Config, e seq.Example, d Drawing) []int32 {
	if d.Mode.loss() {
		p.target = append(p.target, LabelTargets(c, e)...)
	}
	return classification{}.pack(p, c, e, d)
}

// lossFactors weighs the terms of the labels that a row has.
func (multiLabel) lossFactors(c *config.Config, scale float64, weight []float64) LossFactors {
	return LossFactors{lossScales(c.NumLabels, scale, nil), lossScales(c.NumLabels, 1, weight)}
}
