package sft

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sinusoid"
)

// Mode says what a pass does.
type Mode uint8

const (
	Infer    Mode = iota // forward
	Explain              // forward, and what it read
	Evaluate             // forward and backward without noise and dropout
	Train                // forward and backward with them
)

// backward reports whether a pass computes gradients.
func (m Mode) backward() bool { return m >= Evaluate }

// Shape is the capacity of a pass: rows that fit.
type Shape struct {
	Tokens, Sequences, Sampled int
}

// Pass is the model recorded as a program for one shape: embed, layers, pool,
// head, and with a backward, loss and the same segments in reverse. One pass
// computes one micro-batch.
type Pass struct {
	Program *tensor.Program
	Batch   *tensor.Batch
	Label   *tensor.Tensor // [E] int32; nil without a backward
	Pooled  *tensor.Tensor // [B, d]
	Logits  *tensor.Tensor // [E, labels]
	Loss    *tensor.Tensor // [E]; nil without a backward
	Scale   *tensor.Tensor // [labels], of the loss that the gradient is of; nil without a backward
	// DeadRows counts, per layer, pairs of token and head without any positive
	// score; in Train, nil for softmax.
	DeadRows []*tensor.Tensor

	explained *explained // in Explain
}

// NewPass records the model for batches of at most that shape.
func NewPass(c *Config, params *Parameters, shape Shape, mode Mode) (*Pass, error) {
	m := &emitter{Program: tensor.NewProgram(), config: c, params: params, shape: shape, mode: mode}
	if c.Relative != "none" {
		f, err := sinusoid.New(c.SinusoidBase, c.SinusoidDim)
		if err != nil {
			return nil, err
		}
		m.frequencies = f
	}
	m.batch = tensor.NewBatch(m.Program, shape.Tokens, shape.Sequences)
	pass := &Pass{Program: m.Program, Batch: m.batch}

	m.Segment("embed")
	x := m.tokens("embed", c.HiddenSize)
	m.Launch(tensor.Embed{Y: x, Token: m.batch.Tokens, Weight: m.weight("embed.weight")})
	if mode == Explain {
		pass.explained = m.explain()
	}
	layers := make([]*layer, c.NumLayers)
	for l := range layers {
		m.Segment(fmt.Sprintf("layer %d", l))
		layers[l] = &layer{emitter: m, index: l, name: fmt.Sprintf("layers.%d.", l)}
		x = layers[l].forward(x)
		if s := layers[l].attn.forward.DeadRows; s != nil {
			pass.DeadRows = append(pass.DeadRows, s)
		}
		if pass.explained != nil {
			pass.explained.layer(layers[l])
		}
	}
	m.Segment("pool")
	h := &head{emitter: m}
	pass.Pooled = h.pool(x)
	if pass.explained != nil {
		pass.explained.pool(h)
	}
	m.Segment("head")
	pass.Logits = h.logits()
	m.Keep(pass.Pooled)
	m.Keep(pass.Logits)
	if !mode.backward() {
		m.Finish()
		return pass, nil
	}

	m.Segment("loss")
	pass.Label = m.Input("label", tensor.Examples, m.examples())
	pass.Scale = m.Input("loss.scale", tensor.Fixed, c.NumLabels)
	pass.Loss = m.Temp("loss", tensor.Examples, m.examples())
	m.Keep(pass.Loss)
	dlogits := m.Temp("logits.grad", tensor.Examples, m.examples(), c.NumLabels)
	m.Launch(tensor.CrossEntropy{Loss: pass.Loss, DLogits: dlogits, Logits: pass.Logits, Label: pass.Label, Scale: pass.Scale})
	m.Segment("head backward")
	dx := h.backward(dlogits)
	for l := len(layers) - 1; l >= 0; l-- {
		m.Segment(fmt.Sprintf("layer %d backward", l))
		dx = layers[l].backward(dx)
	}
	m.Segment("embed backward")
	m.Launch(tensor.EmbedBackward{DWeight: m.gradient("embed.weight"), DY: dx, Token: m.batch.Tokens})
	m.Finish()
	return pass, nil
}

// embedParameters are those of the embedding.
func embedParameters(c *Config) []Parameter {
	return []Parameter{{Name: "embed.weight", Shape: []int{c.VocabSize, c.HiddenSize}, Decay: true, Part: PartEmbed,
		fresh: func(d draws, e int) float64 { return d.normal(e) }}}
}
