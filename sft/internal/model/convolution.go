package model

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/config"
)

// convolution holds the tensors of a convolution branch that its backward pass reads:
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
