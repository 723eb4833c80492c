package sft

import (
	"fmt"
	"math"

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
// computes one gradient group.
type Pass struct {
	Program *tensor.Program
	Batch   *tensor.Batch
	Label   *tensor.Tensor // [E] int32; nil without a backward
	Pooled  *tensor.Tensor // [B, d]
	Logits  *tensor.Tensor // [E, labels]
	Loss    *tensor.Tensor // [E]; nil without a backward
	Scale   *tensor.Tensor // [labels], of the loss that the gradient is of; nil without a backward
	// Silent counts, per layer, pairs of token and head without any positive
	// score; in Train, nil for softmax.
	Silent []*tensor.Tensor

	explained *explained // in Explain
}

// emitter records a pass.
type emitter struct {
	*tensor.Program
	config      *Config
	params      *Parameters
	frequencies *sinusoid.Frequencies
	batch       *tensor.Batch
	shape       Shape
	mode        Mode
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
		if s := layers[l].attn.forward.Silent; s != nil {
			pass.Silent = append(pass.Silent, s)
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

// examples is the number of examples that fit.
func (m *emitter) examples() int {
	if m.config.Pair() {
		return (m.shape.Sequences + 1) / 2
	}
	return m.shape.Sequences
}

func (m *emitter) tokens(name string, width int) *tensor.Tensor {
	return m.Temp(name, tensor.Tokens, m.shape.Tokens, width)
}

func (m *emitter) sampled(name string, width int) *tensor.Tensor {
	return m.Temp(name, tensor.Sampled, m.shape.Sampled, width)
}

// like declares a tensor of another's shape.
func (m *emitter) like(t *tensor.Tensor, name string) *tensor.Tensor {
	return m.Temp(name, t.Rows, t.Shape...)
}

func (m *emitter) weight(name string) *tensor.Tensor { return m.params.Tensor(tensor.Weights, name) }

func (m *emitter) gradient(name string) *tensor.Tensor {
	return m.params.Tensor(tensor.Gradients, name)
}

// unused clears the gradients of a parameter that the configuration leaves idle.
func (m *emitter) unused(name string) {
	m.Launch(tensor.Zero{Y: m.gradient(name + ".weight")})
	m.Launch(tensor.Zero{Y: m.gradient(name + ".bias")})
}

// linearParameters are those of a linear layer.
func linearParameters(part Part, name string, out, in int) []Parameter {
	return []Parameter{
		{Name: name + ".weight", Shape: []int{out, in}, Decay: true, Part: part, fresh: uniformBy(in)},
		{Name: name + ".bias", Shape: []int{out}, Part: part, fresh: uniformBy(in)},
	}
}

// linear applies a linear layer to x.
func (m *emitter) linear(name string, x *tensor.Tensor) *tensor.Tensor {
	w := m.weight(name + ".weight")
	y := m.Temp(name, x.Rows, x.Shape[0], w.Shape[0])
	m.Launch(tensor.Linear{Y: y, X: x, Weight: w, Bias: m.weight(name + ".bias")})
	return y
}

// linearBackward assigns, or adds to, the gradient dx of x.
func (m *emitter) linearBackward(name string, dx, dy, x *tensor.Tensor, accumulate bool) {
	m.Launch(tensor.LinearBackward{DX: dx, DWeight: m.gradient(name + ".weight"), DBias: m.gradient(name + ".bias"),
		DY: dy, X: x, Weight: m.weight(name + ".weight"), Accumulate: accumulate})
}

// normParameters are those of a LayerNorm.
func normParameters(name string, d int) []Parameter {
	return []Parameter{
		{Name: name + ".weight", Shape: []int{d}, Part: PartNorms, fresh: constant(1)},
		{Name: name + ".bias", Shape: []int{d}, Part: PartNorms},
	}
}

// norm is a LayerNorm with what its backward needs.
type norm struct {
	name          string
	x, mean, rstd *tensor.Tensor
}

func (m *emitter) norm(name string, x *tensor.Tensor) (*tensor.Tensor, norm) {
	n := norm{name: name, x: x, mean: m.tokens(name+".mean", 1), rstd: m.tokens(name+".rstd", 1)}
	y := m.like(x, name)
	m.Launch(tensor.LayerNorm{Y: y, X: x, Mean: n.mean, RStd: n.rstd, Gain: m.weight(name + ".weight"),
		Bias: m.weight(name + ".bias"), Eps: float32(m.config.LayerNormEps)})
	return y, n
}

// normBackward assigns, or adds to, the gradient dx of the norm's input.
func (m *emitter) normBackward(n norm, dx, dy *tensor.Tensor, accumulate bool) {
	m.Launch(tensor.LayerNormBackward{DX: dx, DGain: m.gradient(n.name + ".weight"), DBias: m.gradient(n.name + ".bias"),
		DY: dy, X: n.x, Mean: n.mean, RStd: n.rstd, Gain: m.weight(n.name + ".weight"), Accumulate: accumulate})
}

// rowDotParameters are those of a row score.
func rowDotParameters(part Part, name string, d int) []Parameter {
	return []Parameter{
		{Name: name + ".weight", Shape: []int{d}, Decay: true, Part: part,
			fresh: func(draw draws, e int) float64 { return draw.normal(e) / math.Sqrt(float64(d)) }},
		{Name: name + ".bias", Shape: []int{1}, Part: part},
	}
}

// rowDot scores each row of x.
func (m *emitter) rowDot(name string, x *tensor.Tensor) *tensor.Tensor {
	y := m.Temp(name, x.Rows, x.Shape[0], 1)
	m.Launch(tensor.RowDot{Y: y, X: x, Weight: m.weight(name + ".weight"), Bias: m.weight(name + ".bias")})
	return y
}

// rowDotBackward adds to the gradient dx of x.
func (m *emitter) rowDotBackward(name string, dx, dy, x *tensor.Tensor) {
	m.Launch(tensor.RowDotBackward{DX: dx, DWeight: m.gradient(name + ".weight"), DBias: m.gradient(name + ".bias"),
		DY: dy, X: x, Weight: m.weight(name + ".weight")})
}

// dropout writes x, masked in training, to y; it is its own backward. Without a
// mask it launches nothing and returns x.
func (m *emitter) dropout(y, x *tensor.Tensor, layer int, stream uint32, rate float64) *tensor.Tensor {
	if m.mode != Train || rate == 0 {
		return x
	}
	if y == nil {
		y = m.like(x, x.Name+".dropout")
	}
	m.Launch(tensor.Dropout{Y: y, X: x, Batch: m.batch, Layer: uint32(layer), Stream: stream, Rate: float32(rate)})
	return y
}
