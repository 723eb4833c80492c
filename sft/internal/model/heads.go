package model

import "github.com/sftseq/sftseq/internal/tensor"

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

// pairHead reads two pooled rows per example.
type pairHead struct {
	linearHead
	pooledReadout, features, hidden *tensor.Tensor
}

func (h *pairHead) forward(pooled *tensor.Tensor) *tensor.Tensor {
	h.pooledReadout = pooled
	h.features = h.Temp("pair", tensor.Examples, h.capacity(tensor.Examples), 4*h.config.HiddenSize)
	h.Launch(tensor.PairFeatures{Y: h.features, X: pooled})
	h.hidden = h.linear("head.hidden", h.features)
	y := h.like(h.hidden, "head.gelu")
	h.Launch(tensor.GELU{Y: y, X: h.hidden})
	return h.linearHead.forward(y)
}

func (h *pairHead) backward(dlogits *tensor.Tensor) *tensor.Tensor {
	d := h.linearHead.backward(dlogits)
	h.Launch(tensor.GELUBackward{DX: d, DY: d, X: h.hidden})
	df := h.like(h.features, "pair.grad")
	h.linearBackward("head.hidden", df, d, h.features, false)
	d = h.like(h.pooledReadout, "pooled.grad")
	h.Launch(tensor.PairFeaturesBackward{DX: d, DY: df, X: h.pooledReadout})
	return d
}

// crossEntropy records the loss of each row of logits and returns the gradient of the logits.
func crossEntropy(m *emitter, p *recordedPass) (dlogits *tensor.Tensor) {
	axis, n := p.Logits.Rows, p.Logits.Shape[0]
	p.Label = m.Input("label", axis, n)
	p.Scale = m.Input("loss.scale", tensor.Fixed, m.config.NumLabels)
	p.Loss = m.Temp("loss", axis, n)
	dlogits = m.like(p.Logits, "logits.grad")
	m.Launch(tensor.CrossEntropy{Loss: p.Loss, DLogits: dlogits, Logits: p.Logits, Label: p.Label, Scale: p.Scale})
	return dlogits
}
