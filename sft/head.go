package sft

import "github.com/sftseq/sftseq/internal/tensor"

// head pools each sequence to one row and turns rows into logits:
//
//	classification  logits = out(u)
//	retrieval       logits = out(GELU(hidden([u, v, u∘v, u−v])))
type head struct {
	*emitter
	final    *norm // final_norm, pre-norm only
	pooling  tensor.Pool
	features *tensor.Tensor // retrieval
	hidden   *tensor.Tensor
	last     *tensor.Tensor // input of head.out
}

// headParameters are those of the final norm and the head.
func headParameters(c *Config) (out []Parameter) {
	d := c.HiddenSize
	if c.NormPosition == "pre" {
		out = normParameters("final_norm", d)
	}
	out = append(out, rowDotParameters(PartHead, "head.pool", d)...)
	if c.Pair() {
		out = append(out, linearParameters(PartHead, "head.hidden", d, 4*d)...)
	}
	return append(out, linearParameters(PartHead, "head.out", c.NumLabels, d)...)
}

// pool applies the final norm and averages the tokens of each sequence.
func (h *head) pool(x *tensor.Tensor) *tensor.Tensor {
	if h.config.NormPosition == "pre" {
		y, n := h.norm("final_norm", x)
		x, h.final = y, &n
	}
	h.pooling = tensor.Pool{Y: h.Temp("pooled", tensor.Sequences, h.shape.Sequences, h.config.HiddenSize), A: h.tokens("pool.weights", 1),
		X: x, Score: h.rowDot("head.pool", x), Batch: h.batch}
	h.Launch(h.pooling)
	return h.pooling.Y
}

func (h *head) logits() *tensor.Tensor {
	h.last = h.pooling.Y
	if h.config.Pair() {
		h.features = h.Temp("pair", tensor.Examples, h.examples(), 4*h.config.HiddenSize)
		h.Launch(tensor.PairFeatures{Y: h.features, X: h.pooling.Y})
		h.hidden = h.linear("head.hidden", h.features)
		h.last = h.like(h.hidden, "head.gelu")
		h.Launch(tensor.GELU{Y: h.last, X: h.hidden})
	}
	y := h.linear("head.out", h.last)
	y.Rows = tensor.Examples // for classification, a sequence is an example
	return y
}

// backward takes the gradient of the logits and returns that of the last
// layer's output.
func (h *head) backward(dlogits *tensor.Tensor) *tensor.Tensor {
	d := h.like(h.last, "head.out.grad")
	h.linearBackward("head.out", d, dlogits, h.last, false)
	if h.config.Pair() {
		h.Launch(tensor.GELUBackward{DX: d, DY: d, X: h.hidden})
		df := h.like(h.features, "pair.grad")
		h.linearBackward("head.hidden", df, d, h.features, false)
		d = h.like(h.pooling.Y, "pooled.grad")
		h.Launch(tensor.PairFeaturesBackward{DX: d, DY: df, X: h.pooling.Y})
	}
	dx := h.like(h.pooling.X, "pool.grad")
	dscore := h.like(h.pooling.Score, "pool.score.grad")
	h.Launch(tensor.PoolBackward{DX: dx, DScore: dscore, DY: d, Y: h.pooling.Y, A: h.pooling.A, X: h.pooling.X, Batch: h.batch})
	h.rowDotBackward("head.pool", dx, dscore, h.pooling.X)
	if h.final != nil {
		h.normBackward(*h.final, dx, dx, false)
	}
	return dx
}
