package model

import (
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/config"
)

// retrieval tells the class of a pair of sequences, such as whether they are alike, with u
// and v their pooled rows:
//
//	logits = out(GELU(hidden([u, v, u∘v, u−v])))
type retrieval struct{ classification }

func (r retrieval) parameters(c *config.Config) []parameter {
	hidden := linearParameters(config.PartHead, "head.hidden", c.HiddenSize, 4*c.HiddenSize)
	return slices.Insert(r.classification.parameters(c), len(poolingParameters(c)), hidden...)
}

func (retrieval) head(m *emitter) head { return &pairHead{linearHead: linearHead{emitter: m}} }

type pairHead struct {
	linearHead
	pooled, features, hidden *tensor.Tensor
}

func (h *pairHead) forward(pooled *tensor.Tensor) *tensor.Tensor {
	h.pooled = pooled
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
	d = h.like(h.pooled, "pooled.grad")
	h.Launch(tensor.PairFeaturesBackward{DX: d, DY: df, X: h.pooled})
	return d
}
