package model

import (
	"errors"

	"github.com/sftseq/sftseq/internal/tensor"
)

// maxPooling takes the maximum of each channel over all tokens of a sequence, or over a sample of its
// tokens:
//
//	u_c = max_t x_tc        if pooling_samples is 0
//	u_c = max_j x̂_jc        otherwise
//
// where x̂_j are at most pooling_samples duplets. The pooling's own sampler, with the scores of
// head.sampler, selects and mixes them as a layer does: in training with noise and drop_token. Its
// random numbers have the layer index after the last layer. The gradient of u_c goes to the first
// row with the maximum, and through the duplet's weight to the scores.
//
// Source: "Sampling Foundational Transformer", reproducibility, the head for ModelNet40; for the
// maximum over all tokens: Qi, Su, Mo, Guibas, "PointNet: Deep Learning on Point Sets for 3D
// Classification and Segmentation", CVPR 2017.
type maxPooling struct {
	*emitter
	pass   *recordedPass
	x      *tensor.Tensor // after the final norm
	final  *norm          // nil without a final norm
	sample *sampling      // nil means all tokens
	pool   tensor.MaxPool
}

func (p *maxPooling) forward(x *tensor.Tensor) *tensor.Tensor {
	c := p.config
	if hasFinalNorm(c) {
		y, n := p.norm("final_norm", x)
		x, p.final = y, &n
	}
	p.x = x
	p.pool = tensor.MaxPool{Y: p.Temp("pooled", tensor.Sequences, p.shape.Sequences, c.HiddenSize),
		Arg: p.TempInts("pool.arg", tensor.Sequences, p.shape.Sequences, c.HiddenSize), X: x, First: p.batch.Offset}
	if c.PoolingSamples > 0 {
		p.pass.PoolOffset = p.Input("pool_offset", tensor.Fixed, p.shape.Sequences+1)
		batch := *p.batch
		batch.SampleOffset = p.pass.PoolOffset
		p.sample = &sampling{rows: tensor.Pooled, maxDuplets: c.PoolingSamples, layer: c.NumLayers, batch: &batch}
		p.sampler("head.", p.sample, x)
		p.pool.X, p.pool.First, p.pool.Count = p.sample.duplet.Y, batch.SampleOffset, p.sample.sample.Count
	}
	p.Launch(p.pool)
	return p.pool.Y
}

// backward takes the gradient of the pooled rows and returns the gradient of the last layer's
// output.
func (p *maxPooling) backward(du *tensor.Tensor) *tensor.Tensor {
	drows := p.like(p.pool.X, "pool.grad")
	p.Launch(tensor.MaxPoolBackward{DX: drows, DY: du, Arg: p.pool.Arg, First: p.pool.First})
	dx := drows
	if p.sample != nil {
		dx = p.like(p.x, "pool.tokens.grad")
		p.Launch(tensor.Zero{Y: dx})
		p.samplerBackward("head.", p.sample, dx, drows, nil)
	}
	if p.final != nil {
		p.normBackward(*p.final, dx, dx, false)
	}
	return dx
}

func (p *maxPooling) keptTensors() []*tensor.Tensor {
	if p.sample == nil {
		return []*tensor.Tensor{p.pool.Arg}
	}
	return []*tensor.Tensor{p.pool.Arg, p.sample.sample.Top, p.sample.sample.Partner, p.sample.duplet.P}
}

func (p *maxPooling) weights(b *packed, arena tensor.Memory) ([]float32, error) {
	d := p.config.HiddenSize
	arg := make([]int32, len(b.example)*d)
	err := tensor.Download(arena, p.pool.Arg, arg)
	rows := b.counts.Pooled
	top, partner, weight := make([]int32, rows), make([]int32, rows), make([]float32, rows)
	if p.sample != nil {
		err = errors.Join(err, tensor.Download(arena, p.sample.sample.Top, top),
			tensor.Download(arena, p.sample.sample.Partner, partner),
			tensor.Download(arena, p.sample.duplet.P, weight))
	}
	if err != nil {
		return nil, err
	}
	sums := make([]float64, b.counts.Tokens)
	for at, j := range arg {
		i := at / d
		first := b.offset[i]
		if p.sample == nil {
			sums[first+j]++
			continue
		}
		j += b.poolOffset[i]
		sums[first+top[j]] += float64(weight[j])
		if partner[j] >= 0 {
			sums[first+partner[j]] += 1 - float64(weight[j])
		}
	}
	out := make([]float32, len(sums))
	for t, sum := range sums {
		out[t] = float32(sum / float64(d))
	}
	return out, nil
}
