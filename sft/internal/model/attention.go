package model

import (
	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/config"
)

// attention holds the tensors of the attention block that its backward pass reads.
type attention struct {
	in *tensor.Tensor // x, the block's input
	sampling
	relation relation     // nil without relative terms
	leak     *tensor.Leak // nil unless the probability is leaky_relu
	forward  tensor.Attention
}

// attentionParameters returns the parameters of the attention block, none without attention.
func attentionParameters(c *config.Config, name string) []parameter {
	if !c.HasAttention() {
		return nil
	}
	d, h := c.HiddenSize, c.NumHeads
	out := rowDotParameters(config.PartSampler, name+"sampler", d)
	for _, n := range []string{"q", "k", "v", "o"} {
		out = append(out, linearParameters(config.PartAttention, name+"attn."+n, d, d)...)
	}
	out = append(out, linearParameters(config.PartAttention, name+"attn.leak", h, d)...)
	return append(out, relationParameters(c, name)...)
}

// attention samples tokens, attends from every token to them, and returns the projection attn.o(O)
// after dropout.
func (l *layer) attention(x *tensor.Tensor) *tensor.Tensor {
	c, a := l.config, &l.attn
	a.in = x
	// The queries come first: a device may fuse them with the preceding norm and the sampler's
	// scores.
	q := l.linear(l.name+"attn.q", x)
	l.dropout(q, q, l.index, philox.StreamDropoutQ, c.AttentionDropout)
	a.sampling = sampling{rows: tensor.Sampled, maxDuplets: c.NumSampledTokens, layer: l.index, batch: l.batch}
	l.sampler(l.name, &a.sampling, x)
	k := l.linear(l.name+"attn.k", a.duplet.Y)
	v := l.linear(l.name+"attn.v", a.duplet.Y)
	l.dropout(k, k, l.index, philox.StreamDropoutK, c.AttentionDropout)

	a.forward = tensor.Attention{
		O: l.like(q, l.name+"attn"), Norm: l.tokens(l.name+"attn.norm", c.NumHeads),
		Q: q, K: k, V: v, Count: a.sample.Count, Batch: l.batch,
		Heads: c.NumHeads, MaxKeys: c.NumSampledTokens, Score: scores[c.Score], Probability: probabilities[c.Probability],
	}
	if a.forward.Probability == tensor.LeakyReLU {
		a.leak = &tensor.Leak{Y: l.Temp(l.name+"leak", tensor.Sequences, l.shape.Sequences, c.NumHeads),
			C: l.linear(l.name+"attn.leak", a.duplet.Y), Count: a.sample.Count, Batch: l.batch}
		l.Launch(*a.leak)
		a.forward.Leak = a.leak.Y
	}
	if a.relation = newRelation(c); a.relation != nil {
		a.forward.RelativeBias = a.relation.forward(l)
	}
	if l.mode == TrainMode && CountedLayers(c) > 0 {
		a.forward.DeadRows = l.TempInts(l.name+"dead", tensor.Fixed, 1)
		l.Keep(a.forward.DeadRows)
	}
	l.Launch(a.forward)
	y := l.linear(l.name+"attn.o", a.forward.O)
	return l.dropout(y, y, l.index, philox.StreamDropoutAttention, c.EmbeddingDropout)
}

// attentionBackward takes the gradient of the block's output and returns the gradient of its input.
func (l *layer) attentionBackward(dy *tensor.Tensor) *tensor.Tensor {
	c, a := l.config, &l.attn
	dy = l.dropout(nil, dy, l.index, philox.StreamDropoutAttention, c.EmbeddingDropout)
	do := l.like(a.forward.O, l.name+"attn.grad")
	l.linearBackward(l.name+"attn.o", do, dy, a.forward.O, false)

	back := l.productsBackward(do)
	var dp *tensor.Tensor // gradient of the duplet weights
	if a.relation != nil {
		dp = a.relation.backward(l, back.Gradient)
	}
	l.dropout(back.DQ, back.DQ, l.index, philox.StreamDropoutQ, c.AttentionDropout)
	l.dropout(back.DK, back.DK, l.index, philox.StreamDropoutK, c.AttentionDropout)

	dduplet := l.like(a.duplet.Y, l.name+"duplet.grad")
	l.linearBackward(l.name+"attn.v", dduplet, back.DV, a.duplet.Y, false)
	l.linearBackward(l.name+"attn.k", dduplet, back.DK, a.duplet.Y, true)
	if a.leak != nil {
		dc := l.like(a.leak.C, l.name+"c.grad")
		l.Launch(tensor.LeakBackward{DC: dc, DY: back.DLeak, C: a.leak.C, Count: a.sample.Count, Batch: l.batch})
		l.linearBackward(l.name+"attn.leak", dduplet, dc, a.duplet.Y, true)
	} else {
		l.zeroGradients(l.name + "attn.leak")
	}

	dx := l.like(a.in, l.name+"attn.in.grad")
	l.linearBackward(l.name+"attn.q", dx, back.DQ, a.in, false)
	l.samplerBackward(l.name, &a.sampling, dx, dduplet, dp)
	return dx
}

// productsBackward records the backward pass of P·V and of the scores.
func (l *layer) productsBackward(do *tensor.Tensor) tensor.AttentionBackward {
	a := &l.attn
	back := tensor.AttentionBackward{
		DQ: l.like(a.forward.Q, l.name+"q.grad"), DK: l.like(a.forward.K, l.name+"k.grad"),
		DV: l.like(a.forward.V, l.name+"v.grad"),
		DO: do, Forward: a.forward,
	}
	if a.leak != nil {
		back.DLeak = l.like(a.leak.Y, l.name+"leak.grad")
	}
	if a.relation != nil {
		back.Gradient = a.relation.gradient(l)
	}
	l.Launch(back)
	return back
}

// CountedLayers returns the number of layers whose dead attention rows training counts. It is 0
// without attention, and for softmax, which has no dead rows.
func CountedLayers(c *config.Config) int {
	if !c.HasAttention() || probabilities[c.Probability] == tensor.Softmax {
		return 0
	}
	return c.NumLayers
}

var (
	scores = map[string]tensor.Score{"maxout": tensor.Maxout, "maxout_standardized": tensor.MaxoutStandardized,
		"lily": tensor.Lily, "dot": tensor.Dot}
	probabilities = map[string]tensor.Probability{"leaky_relu": tensor.LeakyReLU, "relu": tensor.ReLU,
		"softmax": tensor.Softmax}
)
