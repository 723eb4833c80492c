package model

import (
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/config"
)

// pooledReadout is the readout of an objective whose head reads one row per sequence.
type pooledReadout interface {
	readout
	weigher
}

// pooledReadout returns the pooling that the configuration selects.
func (m *emitter) pooledReadout(p *recordedPass) readout {
	if m.config.Pooling == config.MaxPooling {
		return &maxPooling{emitter: m, pass: p}
	}
	return &pooling{emitter: m, pass: p}
}

// hasFinalNorm reports whether a norm precedes the pooling. A document encoder has no final norm: it
// reads means of normed rows, and the magnitude of a mean shows how much the tokens of a chunk agree.
func hasFinalNorm(c *config.Config) bool { return c.NormPosition == "pre" && c.Chunks == nil }

// poolingParameters returns the parameters of the final norm and of the pooling's scores.
func poolingParameters(c *config.Config) (out []parameter) {
	if hasFinalNorm(c) {
		out = normParameters("final_norm", c.HiddenSize)
	}
	switch {
	case c.Pooling != config.MaxPooling:
		out = append(out, rowDotParameters(config.PartHead, "head.pool", c.HiddenSize)...)
	case c.PoolingSamples > 0:
		out = append(out, rowDotParameters(config.PartHead, "head.sampler", c.HiddenSize)...)
	}
	return out
}

// pooling averages the tokens of each sequence into one row, weighted by a learned score of each
// token:
//
//	u = Σ_t a_t·x_t, a = softmax(pool(x))
//
// or, if mean is true, with equal weights. In the document stage only the pooled row of each chunk has
// a weight. An exported duplet mixes only two tokens, whose noise would hide the mean of a chunk at
// the beginning of the training. Duplets reach the head through the document encoder.
type pooling struct {
	*emitter
	pass  *recordedPass
	mean  bool
	final *norm // nil without a final norm
	pool  tensor.Pool
}

func (p *pooling) forward(x *tensor.Tensor) *tensor.Tensor {
	if hasFinalNorm(p.config) {
		y, n := p.norm("final_norm", x)
		x, p.final = y, &n
	}
	var score *tensor.Tensor
	if p.mean {
		score = p.tokens("pool.equal", 1)
		p.Launch(tensor.Zero{Y: score})
	} else {
		score = p.rowDot("head.pool", x)
	}
	if p.shape.stage == documentStage {
		p.pass.Weighted = p.Input("pool.weighted", tensor.Tokens, p.shape.Tokens, 1)
		masked := p.tokens("pool.masked", 1)
		p.Launch(tensor.Add{Y: masked, A: score, B: p.pass.Weighted})
		score = masked
	}
	p.pool = tensor.Pool{Y: p.Temp("pooled", tensor.Sequences, p.shape.Sequences, p.config.HiddenSize),
		A: p.tokens("pool.weights", 1),
		X: x, Score: score, Batch: p.batch}
	p.Launch(p.pool)
	return p.pool.Y
}

// backward takes the gradient of the pooled rows and returns the gradient of the last layer's
// output.
func (p *pooling) backward(du *tensor.Tensor) *tensor.Tensor {
	dx := p.like(p.pool.X, "pool.grad")
	dscore := p.like(p.pool.Score, "pool.score.grad")
	p.Launch(tensor.PoolBackward{DX: dx, DScore: dscore, DY: du, Y: p.pool.Y, A: p.pool.A, X: p.pool.X, Batch: p.batch})
	p.rowDotBackward("head.pool", dx, dscore, p.pool.X)
	if p.final != nil {
		p.normBackward(*p.final, dx, dx, false)
	}
	return dx
}

func (p *pooling) keptTensors() []*tensor.Tensor { return []*tensor.Tensor{p.pool.A} }

func (p *pooling) weights(b *packed, arena tensor.Memory) ([]float32, error) {
	a := make([]float32, b.counts.Tokens)
	return a, tensor.Download(arena, p.pool.A, a)
}
