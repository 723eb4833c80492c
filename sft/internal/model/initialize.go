package model

import (
	"math"
	"regexp"
	"strconv"

	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/sft/config"
)

// Initialize returns initial weights that depend only on c and the seed. Linear layers are uniform
// in ±1/√in (PyTorch's default), and the weights of convolutions in ±1/√taps. Embeddings and the weights of
// row scores are normal; norms have weights of 1 and biases of 0. The relative position bias starts near
// the identity: small weights, and the bias of Rmul with softplus(b) = 1. The branches of a document
// encoder start at 0, so that the head begins with the means of the chunks:
// docs/experiments/2026-11-29-chunks.md. Exception: with a residual scale, the branches of convolutions
// and moving averages do not start at 0.
func Initialize(c *config.Config, seed uint64) []float32 {
	params := NewParameters(c)
	words := make([]float32, params.Words)
	i := 0
	forEachParameter(c, func(p parameter) {
		if p.initializer != nil {
			d := DrawsOf(seed, i)
			x := params.Slice(words, params.List[i])
			for e := range x {
				x[e] = float32(p.initializer(d, e))
			}
		}
		i++
	})
	clearDocumentBranches(c, params, words)
	return words
}

// clearDocumentBranches sets the last weights of each branch of the document encoder to 0, unless the
// model has a residual scale. The scale begins at 0, which has the same effect on the branches of attention
// and MLP, and would have no gradient if their weights were 0 as well. The other branches are not scaled.
func clearDocumentBranches(c *config.Config, params *config.Parameters, words []float32) {
	if c.Chunks == nil || c.ResidualScale {
		return
	}
	last := regexp.MustCompile(`^layers\.(\d+)\.(conv\.\d+|average|attn\.o|mlp\.fc2)\.(weight|gain|bias)$`)
	for _, p := range params.List {
		if name := last.FindStringSubmatch(p.Name); name != nil {
			if layer, _ := strconv.Atoi(name[1]); layer >= c.Chunks.Layers {
				clear(params.Slice(words, p))
			}
		}
	}
}

// initializer returns the initial value of element e of a parameter; nil means 0.
type initializer func(d draws, e int) float64

// uniformFanIn draws uniform values in ±1/√n.
func uniformFanIn(n int) initializer {
	bound := 1 / math.Sqrt(float64(n))
	return func(d draws, e int) float64 { return bound * (2*d.uniform(e) - 1) }
}

// constant returns v for every element.
func constant(v float64) initializer { return func(draws, int) float64 { return v } }

// draws holds the random numbers of a parameter by their index e: uniform on 0 to 1, or normal.
type draws struct{ uniform, Normal func(e int) float64 }

// DrawsOf returns the random numbers of parameter i.
func DrawsOf(seed uint64, i int) draws {
	uniform := func(e int) float64 {
		w := philox.Words(seed, [4]uint32{uint32(e >> 2), philox.StreamInit, uint32(i), 0})
		return float64(philox.Uniform(w[e&3]))
	}
	return draws{uniform, func(e int) float64 { // Box-Muller
		return math.Sqrt(-2*math.Log(uniform(2*e))) * math.Cos(2*math.Pi*uniform(2*e+1))
	}}
}
