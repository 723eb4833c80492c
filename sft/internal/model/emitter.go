package model

import (
	"cmp"
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sinusoid"
)

// emitter records the program of a pass.
type emitter struct {
	*tensor.Program
	config      *config.Config
	params      *config.Parameters
	frequencies *sinusoid.Frequencies
	batch       *tensor.Batch
	points      *tensor.Tensor // [T, 3 or 6], for distances; otherwise nil
	edges       *edgeInputs    // nil unless the relation is edges
	shape       passShape
	mode        PassMode

	assigned map[string]bool // gradients that a launch has assigned
	terms    []tensor.Add    // additions of gradient terms to record after the next launch
}

func newEmitter(c *config.Config, params *config.Parameters, shape passShape, mode PassMode) *emitter {
	p := tensor.NewProgram()
	return &emitter{Program: p, config: c, params: params, shape: shape, mode: mode,
		batch: tensor.NewBatch(p, shape.Tokens, shape.Sequences), assigned: map[string]bool{}}
}

// Launch records a launch, followed by the additions of its pending terms to their gradients.
func (m *emitter) Launch(k tensor.Kernel) {
	m.Program.Launch(k)
	for _, a := range m.terms {
		m.Program.Launch(a)
	}
	m.terms = nil
}

// capacity returns the maximum number of rows of an axis.
func (m *emitter) capacity(rows tensor.Axis) int {
	switch rows {
	case tensor.Tokens:
		return m.shape.Tokens
	case tensor.Sampled:
		return m.shape.Sampled
	case tensor.Sequences:
		return m.shape.Sequences
	case tensor.Pooled:
		return min(m.shape.Tokens, m.shape.Sequences*m.shape.stage.poolingSamples(m.config))
	case tensor.Targets:
		if m.mode == FillMode {
			return cmp.Or(m.shape.Masks, m.shape.Tokens)
		}
		return m.shape.stage.targetCapacity(m.config, m.shape.Tokens, m.shape.Sequences)
	}
	n := m.shape.stage.sequences(m.config)
	return (m.shape.Sequences + n - 1) / n
}

func (m *emitter) tokens(name string, width int) *tensor.Tensor {
	return m.Temp(name, tensor.Tokens, m.shape.Tokens, width)
}

func (m *emitter) sampled(name string, width int) *tensor.Tensor {
	return m.Temp(name, tensor.Sampled, m.shape.Sampled, width)
}

// like declares a tensor with the shape of t.
func (m *emitter) like(t *tensor.Tensor, name string) *tensor.Tensor {
	return m.Temp(name, t.Rows, t.Shape...)
}

func (m *emitter) weight(name string) *tensor.Tensor {
	return parameterTensor(m.params, tensor.Weights, name)
}

// gradient returns the tensor that the next launch must assign for the gradient of a parameter. For
// the first use this is the gradient itself; for later uses it is a term, which Launch adds. A pass
// may therefore use a parameter any number of times.
func (m *emitter) gradient(name string) *tensor.Tensor {
	g, assigned := m.sum(name)
	if !assigned {
		return g
	}
	term := m.like(g, g.Name+".term")
	m.terms = append(m.terms, tensor.Add{Y: g, A: g, B: term})
	return term
}

// sum returns the gradient of a parameter for a launch that can accumulate. If assigned is true, an
// earlier launch has assigned the gradient and the launch must add to it.
func (m *emitter) sum(name string) (g *tensor.Tensor, assigned bool) {
	assigned = m.assigned[name]
	m.assigned[name] = true
	return parameterTensor(m.params, tensor.Gradients, name), assigned
}

// zeroGradients clears the gradients of a linear layer that the configuration does not use.
func (m *emitter) zeroGradients(name string) {
	m.Launch(tensor.Zero{Y: m.gradient(name + ".weight")})
	m.Launch(tensor.Zero{Y: m.gradient(name + ".bias")})
}

// linearParameters returns the weight and the bias of a linear layer.
func linearParameters(part config.Part, name string, out, in int) []parameter {
	return []parameter{
		{Name: name + ".weight", Shape: []int{out, in}, Decay: true, Part: part, initializer: uniformFanIn(in)},
		{Name: name + ".bias", Shape: []int{out}, Part: part, initializer: uniformFanIn(in)},
	}
}

// linear applies a linear layer to x.
func (m *emitter) linear(name string, x *tensor.Tensor) *tensor.Tensor {
	w := m.weight(name + ".weight")
	y := m.Temp(name, x.Rows, x.Shape[0], w.Shape[0])
	m.Launch(tensor.Linear{Y: y, X: x, Weight: w, Bias: m.weight(name + ".bias")})
	return y
}

// linearBackward assigns the gradient dx of x, or adds to it if accumulate is true.
func (m *emitter) linearBackward(name string, dx, dy, x *tensor.Tensor, accumulate bool) {
	m.Launch(tensor.LinearBackward{DX: dx, DWeight: m.gradient(name + ".weight"), DBias: m.gradient(name + ".bias"),
		DY: dy, X: x, Weight: m.weight(name + ".weight"), Accumulate: accumulate})
}

// normParameters returns the weight and the bias of a LayerNorm.
func normParameters(name string, d int) []parameter {
	return []parameter{
		{Name: name + ".weight", Shape: []int{d}, Part: config.PartNorms, initializer: constant(1)},
		{Name: name + ".bias", Shape: []int{d}, Part: config.PartNorms},
	}
}

// norm holds the tensors of a LayerNorm that its backward pass reads.
type norm struct {
	name          string
	x, mean, rstd *tensor.Tensor
}

func (m *emitter) norm(name string, x *tensor.Tensor) (*tensor.Tensor, norm) {
	n := norm{name: name, x: x, mean: m.Temp(name+".mean", x.Rows, x.Shape[0], 1),
		rstd: m.Temp(name+".rstd", x.Rows, x.Shape[0], 1)}
	y := m.like(x, name)
	m.Launch(tensor.LayerNorm{Y: y, X: x, Mean: n.mean, RStd: n.rstd, Gain: m.weight(name + ".weight"),
		Bias: m.weight(name + ".bias"), Eps: float32(m.config.LayerNormEps)})
	return y, n
}

// normBackward assigns the gradient dx of the norm's input, or adds to it if accumulate is true.
func (m *emitter) normBackward(n norm, dx, dy *tensor.Tensor, accumulate bool) {
	m.Launch(tensor.LayerNormBackward{DX: dx, DGain: m.gradient(n.name + ".weight"),
		DBias: m.gradient(n.name + ".bias"),
		DY:    dy, X: n.x, Mean: n.mean, RStd: n.rstd, Gain: m.weight(n.name + ".weight"), Accumulate: accumulate})
}

// rowDotParameters returns the weight and the bias of a score per row.
func rowDotParameters(part config.Part, name string, d int) []parameter {
	return []parameter{
		{Name: name + ".weight", Shape: []int{d}, Decay: true, Part: part,
			initializer: func(draw draws, e int) float64 { return draw.Normal(e) / math.Sqrt(float64(d)) }},
		{Name: name + ".bias", Shape: []int{1}, Part: part},
	}
}

// rowDot returns the score w·x + b of each row of x.
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

// dropout applies dropout to x in training, and returns the tensor that holds the result: y, or a new tensor
// if y is nil. In other modes, or if rate is 0, it launches nothing and returns x. The backward pass calls it
// with the gradient as x.
func (m *emitter) dropout(y, x *tensor.Tensor, layer int, stream uint32, rate float64) *tensor.Tensor {
	if m.mode != TrainMode || rate == 0 {
		return x
	}
	if y == nil {
		y = m.like(x, x.Name+".dropout")
	}
	m.Launch(tensor.Dropout{Y: y, X: x, Batch: m.batch, Layer: uint32(layer), Stream: stream, Rate: float32(rate)})
	return y
}
