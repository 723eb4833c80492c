package model

import (
	"fmt"
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/config"
)

// convolution holds the tensors that the backward pass of a convolution branch reads. The branch is
//
//	pre-norm   x ← x + GELU(conv(LN(x)))
//	post-norm  x ← LN(x + GELU(conv(x)))
type convolution struct {
	config.Convolution
	name string // prefix of its parameters
	norm norm
	x, z *tensor.Tensor // input, and the weighted sum over the taps
}

// convolutionParameters returns the parameters of a layer's convolution branches.
func convolutionParameters(c *config.Config, name string) (out []parameter) {
	for n, v := range c.Convolutions {
		name := fmt.Sprintf("%sconv.%d.", name, n)
		out = append(out,
			parameter{Name: name + "weight", Shape: []int{v.KernelSize, c.HiddenSize}, Decay: true,
				Part: config.PartConvolutions, initializer: uniformFanIn(v.KernelSize)},
			parameter{Name: name + "bias", Shape: []int{c.HiddenSize}, Part: config.PartConvolutions})
		out = append(out, normParameters(name+"norm", c.HiddenSize)...)
	}
	return out
}

// convolutionBranches records a layer's convolution branches, one after the other.
func (l *layer) convolutionBranches(x *tensor.Tensor) *tensor.Tensor {
	l.convolutions = make([]convolution, len(l.config.Convolutions))
	for n, c := range l.config.Convolutions {
		b := &l.convolutions[n]
		*b = convolution{Convolution: c, name: fmt.Sprintf("%sconv.%d.", l.name, n)}
		b.x = x
		if l.pre() {
			b.x, b.norm = l.norm(b.name+"norm", x)
		}
		y := l.like(x, b.name+"residual")
		if l.mode.backward() {
			b.z = l.like(x, b.name+"sum")
		}
		l.Launch(tensor.Convolution{Y: y, A: x, X: b.x, Z: b.z, Weight: l.weight(b.name + "weight"),
			Bias:  l.weight(b.name + "bias"),
			Batch: l.batch, Dilation: c.Dilation})
		if x = y; !l.pre() {
			x, b.norm = l.norm(b.name+"norm", y)
		}
	}
	return x
}

// convolutionsBackward replaces the gradient dx of the branches' output with the gradient of their
// input.
func (l *layer) convolutionsBackward(dx *tensor.Tensor) {
	for n := len(l.convolutions) - 1; n >= 0; n-- {
		b := &l.convolutions[n]
		if !l.pre() {
			l.normBackward(b.norm, dx, dx, false)
		}
		dz := b.z // reuses the memory of z
		l.Launch(tensor.GELUBackward{DX: dz, DY: dx, X: b.z})
		back := tensor.ConvolutionBackward{DX: dx, DWeight: l.gradient(b.name + "weight"),
			DBias: l.gradient(b.name + "bias"),
			DZ:    dz, X: b.x, Weight: l.weight(b.name + "weight"), Batch: l.batch,
			Dilation: b.Dilation, Accumulate: true}
		if l.pre() {
			back.DX, back.Accumulate = l.like(dx, b.name+"grad"), false
		}
		l.Launch(back)
		if l.pre() {
			l.normBackward(b.norm, dx, back.DX, true)
		}
	}
}

// average holds the tensors that the backward pass of the branch of moving averages reads. The branch is
//
//	pre-norm   x ← x + GELU(average(LN(x)))
//	post-norm  x ← LN(x + GELU(average(x)))
type average struct {
	norm norm
	x, z *tensor.Tensor // input, and the weighted sum of the averages
}

// averageParameters returns the parameters of a layer's moving averages.
func averageParameters(c *config.Config, name string) []parameter {
	if c.MovingAverages == 0 {
		return nil
	}
	d, shape := c.HiddenSize, []int{2 * c.MovingAverages, c.HiddenSize}
	return append([]parameter{
		{Name: name + "average.decay", Shape: shape, Part: config.PartAverages, initializer: initialDecay(c)},
		{Name: name + "average.gain", Shape: shape, Decay: true, Part: config.PartAverages,
			initializer: func(draw draws, e int) float64 { return draw.Normal(e) / math.Sqrt(float64(shape[0])) }},
		{Name: name + "average.bias", Shape: []int{d}, Part: config.PartAverages},
	}, normParameters(name+"average.norm", d)...)
}

// initialDecay returns the logits of decays. In each direction, the half-lives of a channel's averages form
// a geometric sequence from 2 to 128 tokens.
func initialDecay(c *config.Config) initializer {
	return func(_ draws, e int) float64 {
		exponent := 4.0 // a single average has a half-life of 16 tokens
		if n := c.MovingAverages; n > 1 {
			exponent = 1 + 6*float64(e/c.HiddenSize%n)/float64(n-1)
		}
		a := math.Exp2(-math.Exp2(-exponent))
		return math.Log(a / (1 - a))
	}
}

// averageBranch records a layer's branch of moving averages.
func (l *layer) averageBranch(x *tensor.Tensor) *tensor.Tensor {
	if l.config.MovingAverages == 0 {
		return x
	}
	b, name := &l.average, l.name+"average."
	if b.x = x; l.pre() {
		b.x, b.norm = l.norm(name+"norm", x)
	}
	b.z = l.like(x, name+"sum")
	l.Launch(tensor.MovingAverage{Z: b.z, X: b.x, Decay: l.weight(name + "decay"), Gain: l.weight(name + "gain"),
		Bias: l.weight(name + "bias"), Batch: l.batch})
	y := l.like(x, name+"residual")
	l.Launch(tensor.GELU{Y: y, X: b.z})
	l.Launch(addTo(y, x))
	if !l.pre() {
		y, b.norm = l.norm(name+"norm", y)
	}
	return y
}

// averageBackward replaces the gradient dx of the branch's output with the gradient of its input.
func (l *layer) averageBackward(dx *tensor.Tensor) {
	if l.config.MovingAverages == 0 {
		return
	}
	b, name := &l.average, l.name+"average."
	if !l.pre() {
		l.normBackward(b.norm, dx, dx, false)
	}
	dz := b.z // reuses the memory of z
	l.Launch(tensor.GELUBackward{DX: dz, DY: dx, X: b.z})
	back := tensor.MovingAverageBackward{DX: l.like(dx, name+"grad"), DDecay: l.gradient(name + "decay"),
		DGain: l.gradient(name + "gain"), DBias: l.gradient(name + "bias"), DZ: dz, X: b.x,
		Decay: l.weight(name + "decay"), Gain: l.weight(name + "gain"), Batch: l.batch}
	l.Launch(back)
	if l.pre() {
		l.normBackward(b.norm, dx, back.DX, true)
	} else {
		l.Launch(addTo(dx, back.DX))
	}
}
