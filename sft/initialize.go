package sft

import (
	"math"
	"strings"

	"sftseq/internal/philox"
)

// Initialize returns fresh weights, a function of the seed: linear layers
// uniform in ±1/√in (PyTorch's default), convolutions likewise by their taps,
// embeddings and the rows that score tokens normal, norms 1 and 0. The relative terms start near the identity:
// small weights, and the bias of Rmul such that softplus(b) = 1.
func Initialize(c *Config, seed uint64) []float32 {
	params := NewParameters(c)
	words := make([]float32, params.Words)
	for i, p := range params.List {
		uniform := func(e int) float64 {
			w := philox.Words(seed, [4]uint32{uint32(e >> 2), philox.StreamInit, uint32(i), 0})
			return float64(philox.Uniform(w[e&3]))
		}
		fill := func(f func(e int) float64) {
			x := params.Slice(words, p)
			for e := range x {
				x[e] = float32(f(e))
			}
		}
		normal := func(e int) float64 { // Box-Muller
			return math.Sqrt(-2*math.Log(uniform(2*e))) * math.Cos(2*math.Pi*uniform(2*e+1))
		}
		in := p.Shape[len(p.Shape)-1]
		bias := strings.HasSuffix(p.Name, ".bias")
		switch {
		case strings.Contains(p.Name, "norm"):
			if !bias {
				fill(func(int) float64 { return 1 })
			}
		case strings.HasSuffix(p.Name, "residual_scale"): // zero
		case strings.Contains(p.Name, ".conv."):
			if !bias {
				bound := 1 / math.Sqrt(float64(p.Shape[0]))
				fill(func(e int) float64 { return bound * (2*uniform(e) - 1) })
			}
		case p.Name == "embed.weight":
			fill(normal)
		case strings.Contains(p.Name, "rel_mul") && bias:
			fill(func(int) float64 { return math.Log(math.E - 1) })
		case strings.Contains(p.Name, "rel_"):
			if !bias {
				fill(func(e int) float64 { return 0.02 * normal(e) })
			}
		case strings.Contains(p.Name, "sampler"), strings.Contains(p.Name, "head.pool"):
			if !bias {
				fill(func(e int) float64 { return normal(e) / math.Sqrt(float64(in)) })
			}
		default:
			if bias {
				in = params.fanIn(p.Name)
			}
			bound := 1 / math.Sqrt(float64(in))
			fill(func(e int) float64 { return bound * (2*uniform(e) - 1) })
		}
	}
	return words
}

// fanIn is the input width of the layer that a bias belongs to.
func (p *Parameters) fanIn(bias string) int {
	w, _ := p.Lookup(strings.TrimSuffix(bias, ".bias") + ".weight")
	return w.Shape[len(w.Shape)-1]
}
