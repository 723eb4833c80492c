package model

import (
	"errors"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/config"
)

// exportsBackward is the name of the segment that begins the backward pass of the exports. In the
// token stage it follows the backward pass of the head.
const exportsBackward = "exports backward"

// exports selects the rows of each chunk that the document encoder reads. With y the normalised rows
// (under post-norm, the rows) after the last local layer, a chunk of L tokens exports
//
//	ŷ_j                            j < min(exports, L)
//	u = Σ_t a_t·y_t                a = softmax(pool(y))
//
// where ŷ_j are duplets, ordered by the positions of their top tokens (see [tensor.Sample]). A sampler
// selects and mixes them as in a layer: in training with noise, but without drop_token. The sampler uses
// the layer index NumLayers + 1 in the counters of its random numbers; max pooling uses NumLayers. Through u
// every token receives a gradient.
type exports struct {
	*emitter
	x      *tensor.Tensor // y
	norm   *norm          // pre-norm only
	offset *tensor.Tensor // [B+1]: first sampled row of each chunk
	sample *sampling
	pool   tensor.Pool

	dduplet, dpooled *tensor.Tensor // gradients of the exported rows, inputs of a backward pass
}

// exportedRows returns the number of rows that a chunk of n tokens exports.
func exportedRows(c *config.Config, n int) int { return min(c.Chunks.Exports, n) + 1 }

// exportParameters returns the parameters of the exports, none without chunks.
func exportParameters(c *config.Config) (out []parameter) {
	if c.Chunks == nil {
		return nil
	}
	if c.NormPosition == "pre" {
		out = normParameters("export.norm", c.HiddenSize)
	}
	out = append(out, rowDotParameters(config.PartSampler, "export.sampler", c.HiddenSize)...)
	return append(out, rowDotParameters(config.PartSampler, "export.pool", c.HiddenSize)...)
}

// exports records the exported rows of chunks whose tokens have the rows x.
func (m *emitter) exports(x *tensor.Tensor) *exports {
	e := &exports{emitter: m, x: x, offset: m.Input("export.offset", tensor.Fixed, m.shape.Sequences+1)}
	if m.config.NormPosition == "pre" {
		y, n := m.norm("export.norm", x)
		e.x, e.norm = y, &n
	}
	batch := *m.batch
	batch.SampleOffset = e.offset
	e.sample = &sampling{rows: tensor.Pooled, maxDuplets: m.config.Chunks.Exports, layer: m.config.NumLayers + 1,
		batch: &batch, keepsTokens: true}
	m.sampler("export.", e.sample, e.x)
	e.pool = tensor.Pool{Y: m.Temp("export.pooled", tensor.Sequences, m.shape.Sequences, m.config.HiddenSize),
		A: m.tokens("export.pool.weights", 1), X: e.x, Score: m.rowDot("export.pool", e.x), Batch: m.batch}
	m.Launch(e.pool)
	m.Keep(e.sample.duplet.Y)
	m.Keep(e.pool.Y)
	return e
}

// backward returns the gradient of the last local layer's output.
func (e *exports) backward() *tensor.Tensor {
	duplets, pooled := e.sample.duplet.Y, e.pool.Y
	e.dduplet = e.Input("export.duplet.grad", duplets.Rows, duplets.Shape...)
	e.dpooled = e.Input("export.pooled.grad", pooled.Rows, pooled.Shape...)
	dx, dscore := e.like(e.x, "export.grad"), e.like(e.pool.Score, "export.pool.score.grad")
	e.Launch(tensor.PoolBackward{DX: dx, DScore: dscore, DY: e.dpooled, Y: e.pool.Y, A: e.pool.A, X: e.x,
		Batch: e.batch})
	e.rowDotBackward("export.pool", dx, dscore, e.x)
	e.samplerBackward("export.", e.sample, dx, e.dduplet, nil)
	if e.norm != nil {
		e.normBackward(*e.norm, dx, dx, false)
	}
	return dx
}

// forwardSegments returns the number of segments before the first segment that reads gradients of
// another stage. Without such a segment it returns the number of all segments.
func (p *recordedPass) forwardSegments() int {
	switch {
	case p.exports != nil && p.exports.dduplet != nil:
		return p.Program.SegmentIndex(exportsBackward)
	case p.exports == nil && p.contexts != nil && p.contexts.gradient != nil:
		return p.Program.SegmentIndex(contextsBackward)
	}
	return len(p.Program.Segments)
}

// exportOffset returns the input for the first sampled row of each chunk, nil without exports.
func (p *recordedPass) exportOffset() *tensor.Tensor {
	if p.exports == nil {
		return nil
	}
	return p.exports.offset
}

// read returns the exported rows of each chunk of a computed batch, row-major: the duplets, then the
// pooled row.
func (e *exports) read(b *packed, arena tensor.Memory) ([]exported, error) {
	d := e.config.HiddenSize
	duplets, pooled := make([]float32, int(b.counts.Pooled)*d), make([]float32, len(b.example)*d)
	err := errors.Join(tensor.Download(arena, e.sample.duplet.Y, duplets), tensor.Download(arena, e.pool.Y, pooled))
	if err != nil {
		return nil, err
	}
	out := make([]exported, len(b.example))
	for i := range out {
		from, to := int(b.poolOffset[i])*d, int(b.poolOffset[i+1])*d
		out[i].rows = slices.Concat(duplets[from:to], pooled[i*d:(i+1)*d])
	}
	return out, nil
}
