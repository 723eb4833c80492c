package model

import (
	"slices"

	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/config"
)

// layer is one encoder layer:
//
//	pre-norm   x ← x + Attn(LN1(x)),  x ← x + MLP(LN2(x))
//	post-norm  x ← LN1(x + Attn(x)),  x ← LN2(x + MLP(x))
//
// after the branches of convolutions and moving averages, if any. A layer
// without attention omits the Attn branch.
//
// The fields after name hold the tensors of the forward pass that the backward pass reads.
type layer struct {
	*emitter
	index int
	name  string // prefix of its parameters

	convolutions []convolution
	average      average
	norm1, norm2 norm
	attn         attention
	attnOut      *tensor.Tensor // output of the attention branch
	mlp          mlp
	mlpOut       *tensor.Tensor
}

// layerParameters returns the parameters of a layer. Their names begin with name.
func layerParameters(c *config.Config, name string) []parameter {
	d := c.HiddenSize
	out := slices.Concat(convolutionParameters(c, name), averageParameters(c, name), attentionParameters(c, name),
		linearParameters(config.PartMLP, name+"mlp.fc1", c.IntermediateSize, d),
		linearParameters(config.PartMLP, name+"mlp.fc2", d, c.IntermediateSize))
	if c.HasAttention() {
		out = append(out, normParameters(name+"norm1", d)...)
	}
	out = append(out, normParameters(name+"norm2", d)...)
	if c.ResidualScale {
		out = append(out, parameter{Name: name + "residual_scale", Shape: []int{1}, Part: config.PartResidual})
	}
	return out
}

func (l *layer) pre() bool { return l.config.NormPosition == "pre" }

func (l *layer) forward(x *tensor.Tensor) *tensor.Tensor {
	x = l.averageBranch(l.convolutionBranches(x))
	if l.config.HasAttention() {
		x = l.branch("1", x, &l.norm1, l.attention, &l.attnOut)
	}
	return l.branch("2", x, &l.norm2, l.feedForward, &l.mlpOut)
}

// branch adds a residual branch to x, with its norm before or after. n is the number of the branch
// in the names of its tensors.
func (l *layer) branch(n string, x *tensor.Tensor, norm *norm, f func(x *tensor.Tensor) *tensor.Tensor,
	saved **tensor.Tensor) *tensor.Tensor {
	if l.pre() {
		var h *tensor.Tensor
		h, *norm = l.norm(l.name+"norm"+n, x)
		return l.residual("residual"+n, x, f(h), saved)
	}
	x = l.residual("residual"+n, x, f(x), saved)
	x, *norm = l.norm(l.name+"norm"+n, x)
	return x
}

// backward takes the gradient of the layer's output and returns the gradient of its input. The
// gradient of the residual stream stays in the same tensor.
func (l *layer) backward(dx *tensor.Tensor) *tensor.Tensor {
	l.branchBackward(dx, l.norm2, l.feedForwardBackward, l.mlpOut)
	if l.config.HasAttention() {
		l.branchBackward(dx, l.norm1, l.attentionBackward, l.attnOut)
	}
	l.averageBackward(dx)
	l.convolutionsBackward(dx)
	return dx
}

// branchBackward replaces dx, the gradient of a branch's output, with the gradient of its input.
func (l *layer) branchBackward(dx *tensor.Tensor, norm norm, f func(dy *tensor.Tensor) *tensor.Tensor,
	branch *tensor.Tensor) {
	if l.pre() {
		l.normBackward(norm, dx, f(l.residualBackward(dx, branch)), true)
		return
	}
	l.normBackward(norm, dx, dx, false)
	l.Launch(addTo(dx, f(l.residualBackward(dx, branch))))
}

func addTo(y, x *tensor.Tensor) tensor.Kernel { return tensor.Add{Y: y, A: y, B: x} }

// residual adds a branch to x. If the layer has a residual scale, residual multiplies the branch by it, and
// stores the branch in saved for the backward pass.
func (l *layer) residual(name string, x, branch *tensor.Tensor, saved **tensor.Tensor) *tensor.Tensor {
	y := l.like(x, l.name+name)
	if l.config.ResidualScale {
		*saved = branch
		l.Launch(tensor.ResidualScale{Y: y, A: x, B: branch, Scale: l.weight(l.name + "residual_scale")})
	} else {
		l.Launch(tensor.Add{Y: y, A: x, B: branch})
	}
	return y
}

// residualBackward returns the gradient of a branch. The branches of attention and MLP share the scale,
// so the gradient of the scale is a sum over both.
func (l *layer) residualBackward(dx, branch *tensor.Tensor) *tensor.Tensor {
	if !l.config.ResidualScale {
		return dx
	}
	db := l.like(dx, l.name+"branch.grad")
	dscale, assigned := l.sum(l.name + "residual_scale")
	l.Launch(tensor.ResidualScaleBackward{DB: db, DScale: dscale,
		DY: dx, B: branch, Scale: l.weight(l.name + "residual_scale"), Accumulate: assigned})
	return db
}

// mlp holds the tensors of the feed-forward block that its backward pass reads.
type mlp struct{ in, hidden, activated *tensor.Tensor }

// feedForward returns dropout(fc2(dropout(GELU(fc1(x))))).
func (l *layer) feedForward(x *tensor.Tensor) *tensor.Tensor {
	c := l.config
	if !l.mode.backward() {
		y := l.like(x, l.name+"mlp")
		l.Launch(tensor.FeedForward{Y: y, X: x,
			Weight1: l.weight(l.name + "mlp.fc1.weight"), Bias1: l.weight(l.name + "mlp.fc1.bias"),
			Weight2: l.weight(l.name + "mlp.fc2.weight"), Bias2: l.weight(l.name + "mlp.fc2.bias")})
		return y
	}
	l.mlp.in = x
	l.mlp.hidden = l.linear(l.name+"mlp.fc1", x)
	l.mlp.activated = l.like(l.mlp.hidden, l.name+"mlp.gelu")
	l.Launch(tensor.GELU{Y: l.mlp.activated, X: l.mlp.hidden})
	l.dropout(l.mlp.activated, l.mlp.activated, l.index, philox.StreamDropoutGELU, c.FeedForward)
	y := l.linear(l.name+"mlp.fc2", l.mlp.activated)
	return l.dropout(y, y, l.index, philox.StreamDropoutMLP, c.EmbeddingDropout)
}

func (l *layer) feedForwardBackward(dy *tensor.Tensor) *tensor.Tensor {
	c := l.config
	dy = l.dropout(nil, dy, l.index, philox.StreamDropoutMLP, c.EmbeddingDropout)
	dh := l.like(l.mlp.hidden, l.name+"mlp.hidden.grad")
	l.linearBackward(l.name+"mlp.fc2", dh, dy, l.mlp.activated, false)
	l.dropout(dh, dh, l.index, philox.StreamDropoutGELU, c.FeedForward)
	l.Launch(tensor.GELUBackward{DX: dh, DY: dh, X: l.mlp.hidden})
	dx := l.like(l.mlp.in, l.name+"mlp.grad")
	l.linearBackward(l.name+"mlp.fc1", dx, dh, l.mlp.in, false)
	return dx
}
