package model

import (
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// fillMask predicts masked tokens. With x_t the row of masked token t after the last layer:
//
//	logits_t = out(final_norm(x_t))    (no final_norm under post-norm)
//	loss     = Σ_t (log Σ_v exp(logits_tv) − logits_t,token)
//
// The loss is divided by the number of masked tokens in the batch. out has a row for each token of
// the data's vocabulary. With [config.Config.TieEmbeddings] this row is the token's embedding. With
// [config.Config.MaskTargets] the head predicts the class of a token instead of the token. The mask
// is the last token of the vocabulary and is never a target. Labels are ignored. The embedding of a
// whole sequence is the mean of final_norm(x_t) over its tokens. With chunks the head reads other rows,
// and the embedding is the mean of the chunks' contexts: see [contexts].
//
// Source: Devlin, Chang, Lee, Toutanova, "BERT: Pre-training of Deep Bidirectional
// Transformers for Language Understanding", NAACL 2019.
type fillMask struct{ defaultTraits }

func (fillMask) parameters(c *config.Config) []parameter {
	out := tokenNormParameters(c)
	layer := linearParameters(config.PartHead, "head.out", c.NumLabels, c.HiddenSize)
	if c.TieEmbeddings {
		layer = layer[1:] // only the bias
	}
	return append(out, layer...)
}

func (fillMask) readout(m *emitter, p *recordedPass) readout {
	if m.mode == InferMode {
		return &pooling{emitter: m, mean: true}
	}
	return &targetRows{emitter: m, pass: p}
}

// targetRows reads only the rows of the target tokens: the cost of the head then depends on their
// number.
type targetRows struct {
	*emitter
	pass  *recordedPass
	x     *tensor.Tensor
	final *norm // tokenNorm, pre-norm only
}

func (t *targetRows) forward(x *tensor.Tensor) *tensor.Tensor {
	t.x = x
	n := t.capacity(tensor.Targets)
	t.pass.TargetRow = t.Input("target.row", tensor.Targets, n)
	y := t.Temp("target", tensor.Targets, n, t.config.HiddenSize)
	t.Launch(tensor.Gather{Y: y, X: x, Row: t.pass.TargetRow})
	if t.config.NormPosition == "pre" {
		normed, final := t.norm(tokenNorm(t.config), y)
		y, t.final = normed, &final
	}
	return y
}

func (t *targetRows) backward(dy *tensor.Tensor) *tensor.Tensor {
	if t.final != nil {
		t.normBackward(*t.final, dy, dy, false)
	}
	t.pass.TargetOf = t.Input("target.of", tensor.Tokens, t.shape.Tokens)
	dx := t.like(t.x, "target.grad")
	t.Launch(tensor.Gather{Y: dx, X: dy, Row: t.pass.TargetOf})
	return dx
}

func (fillMask) head(m *emitter) head {
	if m.config.TieEmbeddings {
		return &tiedHead{emitter: m}
	}
	return &linearHead{emitter: m}
}

// tiedHead is a linear layer whose weight is the embedding of all tokens except the last, the mask.
type tiedHead struct {
	*emitter
	x *tensor.Tensor
}

// rows returns the embeddings of the tokens that the head predicts.
func (h *tiedHead) rows(embedding *tensor.Tensor) *tensor.Tensor {
	return tensor.At(embedding.Region, embedding.Offset, embedding.Name+".rows", h.config.NumLabels, embedding.Width())
}

func (h *tiedHead) forward(x *tensor.Tensor) *tensor.Tensor {
	h.x = x
	y := h.Temp("head.out", x.Rows, x.Shape[0], h.config.NumLabels)
	h.Launch(tensor.Linear{Y: y, X: x, Weight: h.rows(h.weight("embed.weight")), Bias: h.weight("head.out.bias")})
	return y
}

func (h *tiedHead) backward(dlogits *tensor.Tensor) *tensor.Tensor {
	dx := h.like(h.x, "head.out.grad")
	g := h.gradient("embed.weight")
	h.Launch(tensor.Zero{Y: g}) // the layer has no row for the mask
	h.Launch(tensor.LinearBackward{DX: dx, DWeight: h.rows(g), DBias: h.gradient("head.out.bias"),
		DY: dlogits, X: h.x, Weight: h.rows(h.weight("embed.weight"))})
	return dx
}

func (fillMask) loss(m *emitter, p *recordedPass) *tensor.Tensor { return crossEntropy(m, p) }

func (fillMask) Divisor(c *config.Config, batch []seq.Example, d Drawing) (n int) {
	for _, e := range batch {
		n += len(maskedPositions(c, len(e.A), e.Index, d))
	}
	return n
}

func (fillMask) evaluation() PassMode { return LossMode }

// targets masks tokens for training and evaluation. In FillMode the targets are the mask tokens of the input.
func (fillMask) targets(c *config.Config, e seq.Example, d Drawing) (input, labels []int32) {
	var positions, targets []int32
	switch {
	case d.Mode.loss():
		input, positions = MaskTokens(c, e.A, e.Index, d)
		targets = TokenTargets(c, e.A, positions)
	case d.Mode == FillMode:
		input, positions = e.A, Masks(c, e.A)
		targets = make([]int32, len(positions)) // no kernel reads these labels
	default:
		return e.A, nil
	}
	labels = slices.Repeat([]int32{seq.NoLabel}, len(input))
	for i, t := range positions {
		labels[t] = targets[i]
	}
	return input, labels
}

// read counts one row of logits per mask token of the input, and none for a pass with a loss.
func (fillMask) read(p *recordedPass, b *packed) (pooled, logits int) {
	if p.Logits == nil || p.Loss != nil {
		return 0, 0
	}
	return 0, int(b.counts.Targets)
}

// targetCapacity returns a number of masked tokens that a batch exceeds with a probability below
// 1e-12. With the mask rate r and the mean length s of spans, the number of masked tokens has a
// standard deviation of at most √(tokens·r·(2s−1)). Each sequence has at least one masked token.
func (fillMask) targetCapacity(c *config.Config, tokens, sequences int) int {
	mean := float64(tokens) * c.MaskRate
	deviation := math.Sqrt(mean * (2*c.MaskSpan - 1))
	return min(tokens, bucket(sequences+int(mean+8*deviation)))
}
