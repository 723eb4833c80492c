package model

import (
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// relation is the relative encoding of a query and a sampled token: each attention score has a factor
// Rmul and a term Radd. Each layer has its own relation, which holds the tensors of the forward pass for
// the backward pass.
type relation interface {
	// forward records the relative bias that attention reads.
	forward(l *layer) tensor.RelativeBias
	// gradient declares the tensors that the backward pass of attention writes.
	gradient(l *layer) tensor.RelativeBiasGradient
	// backward records the gradients of the parameters and returns the relation's contribution to
	// the gradient of the duplet weights, [S, h].
	backward(l *layer, g tensor.RelativeBiasGradient) (dp *tensor.Tensor)
}

// newRelation returns a new relation for a layer, or nil if the configuration has none.
func newRelation(c *config.Config) relation {
	switch c.Relative {
	case config.SinusoidRelation:
		return &sinusoidRelation{}
	case config.DistanceRelation:
		return &distanceRelation{}
	case config.EdgeRelation:
		return &edgeRelation{}
	}
	return nil
}

// pairFeatures returns the number of features of a pair of tokens. Each head has its own weights for these
// features.
func pairFeatures(c *config.Config) int {
	switch c.Relative {
	case config.SinusoidRelation:
		return c.SinusoidDim
	case config.DistanceRelation:
		return len(seq.Points(c.FeatureNames)) / 3
	case config.EdgeRelation:
		return len(c.EdgeFeatureNames) + 1 // the features, and the number of edges
	}
	return 0
}

// relationParameters returns the weights and biases that map a pair's features to Rmul and Radd.
func relationParameters(c *config.Config, name string) (out []parameter) {
	n := pairFeatures(c)
	if n == 0 {
		return nil
	}
	for _, relative := range []struct {
		name string
		bias initializer
	}{
		{"attn.rel_mul", constant(math.Log(math.E - 1))}, // softplus(b) = 1
		{"attn.rel_add", nil},
	} {
		out = append(out,
			parameter{Name: name + relative.name + ".weight", Shape: []int{c.NumHeads, n},
				Decay: true, Part: config.PartRelative,
				initializer: func(d draws, e int) float64 { return 0.02 * d.Normal(e) }},
			parameter{Name: name + relative.name + ".bias", Shape: []int{c.NumHeads},
				Part: config.PartRelative, initializer: relative.bias})
	}
	return out
}

// sinusoidRelation is the relation of two positions of a sequence, computed from tables.
type sinusoidRelation struct{ tables tensor.Sinusoid }

func (r *sinusoidRelation) forward(l *layer) tensor.RelativeBias {
	table := func(name string) *tensor.Tensor {
		return l.Temp(l.name+name, tensor.Fixed, 2*l.config.NumHeads, 2*l.shape.Tokens)
	}
	r.tables = tensor.Sinusoid{
		F: table("f"), G: table("g"), E: table("e"),
		MulWeight: l.weight(l.name + "attn.rel_mul.weight"), MulBias: l.weight(l.name + "attn.rel_mul.bias"),
		AddWeight: l.weight(l.name + "attn.rel_add.weight"), AddBias: l.weight(l.name + "attn.rel_add.bias"),
		Counts: l.Counts, Frequencies: l.frequencies,
	}
	l.Launch(r.tables)
	a := &l.attn
	return tensor.SinusoidBias{F: r.tables.F, G: r.tables.G, E: r.tables.E, P: a.duplet.P, Top: a.sample.Top,
		Partner: a.sample.Partner}
}

func (r *sinusoidRelation) gradient(l *layer) tensor.RelativeBiasGradient {
	return tensor.SinusoidGradient{DP: l.sampled(l.name+"p.grad", l.config.NumHeads),
		DF: l.like(r.tables.F, l.name+"f.grad"), DG: l.like(r.tables.G, l.name+"g.grad")}
}

// backward converts the gradients of the tables to gradients of their weights.
func (r *sinusoidRelation) backward(l *layer, gradient tensor.RelativeBiasGradient) (dp *tensor.Tensor) {
	g := gradient.(tensor.SinusoidGradient)
	l.Launch(tensor.SinusoidBackward{
		DMulWeight: l.gradient(l.name + "attn.rel_mul.weight"), DMulBias: l.gradient(l.name + "attn.rel_mul.bias"),
		DAddWeight: l.gradient(l.name + "attn.rel_add.weight"), DAddBias: l.gradient(l.name + "attn.rel_add.bias"),
		DF: g.DF, DG: g.DG, Counts: l.Counts, Frequencies: l.frequencies,
	})
	return g.DP
}

// pairWeights is the common part of relations that weight the features of a pair: see
// [tensor.PairWeights].
type pairWeights struct{}

// pack records the weights as one tensor.
func (pairWeights) pack(l *layer) *tensor.Tensor {
	w := l.Temp(l.name+"relation", tensor.Fixed, l.config.NumHeads, 2*pairFeatures(l.config)+2)
	l.Launch(tensor.PairWeights{W: w,
		MulWeight: l.weight(l.name + "attn.rel_mul.weight"), MulBias: l.weight(l.name + "attn.rel_mul.bias"),
		AddWeight: l.weight(l.name + "attn.rel_add.weight"), AddBias: l.weight(l.name + "attn.rel_add.bias")})
	return w
}

func (pairWeights) gradient(l *layer) tensor.RelativeBiasGradient {
	return tensor.PairGradient{D: l.sampled(l.name+"relation.grad", l.config.NumHeads*(2*pairFeatures(l.config)+3))}
}

func (pairWeights) backward(l *layer, gradient tensor.RelativeBiasGradient) (dp *tensor.Tensor) {
	dp = l.sampled(l.name+"p.grad", l.config.NumHeads)
	l.Launch(tensor.PairWeightsBackward{
		DMulWeight: l.gradient(l.name + "attn.rel_mul.weight"), DMulBias: l.gradient(l.name + "attn.rel_mul.bias"),
		DAddWeight: l.gradient(l.name + "attn.rel_add.weight"), DAddBias: l.gradient(l.name + "attn.rel_add.bias"),
		DP: dp, D: gradient.(tensor.PairGradient).D})
	return dp
}

// distanceRelation is the relation of two points in space and of their normals: see
// [tensor.DistanceBias].
type distanceRelation struct{ pairWeights }

func (r *distanceRelation) forward(l *layer) tensor.RelativeBias {
	a := &l.attn
	return tensor.DistanceBias{Points: l.points, W: r.pack(l), P: a.duplet.P, Top: a.sample.Top,
		Partner: a.sample.Partner}
}
