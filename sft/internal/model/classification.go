package model

import (
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// classification tells the class of a sequence, with u its pooled row:
//
//	logits = out(u)
//	loss   = log Σ_c exp(logits_c) − logits_label
type classification struct{ ofRows }

func (classification) parameters(c *config.Config) []parameter {
	return append(poolingParameters(c), linearParameters(config.PartHead, "head.out", c.NumLabels, c.HiddenSize)...)
}

func (classification) readout(m *emitter, p *recordedPass) readout { return m.pooled(p) }

func (classification) head(m *emitter) head { return &linearHead{emitter: m} }

// linearHead is one linear layer.
type linearHead struct {
	*emitter
	x *tensor.Tensor
}

func (h *linearHead) forward(x *tensor.Tensor) *tensor.Tensor {
	h.x = x
	return h.linear("head.out", x)
}

func (h *linearHead) backward(dlogits *tensor.Tensor) *tensor.Tensor {
	dx := h.like(h.x, "head.out.grad")
	h.linearBackward("head.out", dx, dlogits, h.x, false)
	return dx
}

func (classification) loss(m *emitter, p *recordedPass) *tensor.Tensor { return crossEntropy(m, p) }

// crossEntropy is the loss of each row of logits.
func crossEntropy(m *emitter, p *recordedPass) (dlogits *tensor.Tensor) {
	axis, n := p.Logits.Rows, p.Logits.Shape[0]
	p.Label = m.Input("label", axis, n)
	p.Scale = m.Input("loss.scale", tensor.Fixed, m.config.NumLabels)
	p.Loss = m.Temp("loss", axis, n)
	dlogits = m.like(p.Logits, "logits.grad")
	m.Launch(tensor.CrossEntropy{Loss: p.Loss, DLogits: dlogits, Logits: p.Logits, Label: p.Label, Scale: p.Scale})
	return dlogits
}

func (classification) Divisor(_ *config.Config, batch []seq.Example, _ Drawing) int {
	return len(batch)
}

func (classification) evaluation() PassMode { return InferMode }

func (classification) pack(p *packed, _ *config.Config, e seq.Example, _ Drawing) []int32 {
	p.label = append(p.label, e.Label)
	return e.A
}
