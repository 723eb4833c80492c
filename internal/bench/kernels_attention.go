package bench

import (
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sinusoid"
)

// Shapes of attention in the paper's model of ListOps, for one sequence.
const (
	length      = 2048
	sampledKeys = 256
	heads       = 4
	headDim     = 32
	hidden      = heads * headDim
)

// attentionKernels returns attention, forward and backward, with and without the relative encoding.
func attentionKernels() []Kernel {
	var out []Kernel
	for _, relative := range []bool{false, true} {
		size := fmt.Sprintf("L %d, k %d, %d heads of %d", length, sampledKeys, heads, headDim)
		if relative {
			size += ", sinusoid"
		}
		batch := func() *fixture { return newFixture(sampledKeys, length) }
		out = append(out,
			Kernel{"attention", size, work{}, func(r *fixture) tensor.Kernel {
				return r.attention(relative)
			}, batch},
			Kernel{"attention backward", size, work{}, func(r *fixture) tensor.Kernel {
				forward := r.attention(relative)
				r.launchBefore(forward)
				k := tensor.AttentionBackward{Forward: forward, DO: r.normal(tensor.Tokens, hidden, 1),
					DQ: r.out(tensor.Tokens, hidden),
					DK: r.out(tensor.Sampled, hidden), DV: r.out(tensor.Sampled, hidden),
					DLeak: r.out(tensor.Sequences, heads)}
				if relative {
					k.Gradient = tensor.SinusoidGradient{DF: r.table(), DG: r.table(), DP: r.out(tensor.Sampled, heads)}
				}
				return k
			}, batch})
	}
	return out
}

// attention declares the operands of attention to randomly chosen keys.
func (r *fixture) attention(relative bool) tensor.Attention {
	k := tensor.Attention{O: r.out(tensor.Tokens, hidden), Norm: r.out(tensor.Tokens, heads),
		Q: r.normal(tensor.Tokens, hidden, 1),
		K: r.normal(tensor.Sampled, hidden, 1), V: r.normal(tensor.Sampled, hidden, 1),
		Leak: r.floats(r.Input("leak", tensor.Sequences, 1, heads),
			func() float64 { return sampledKeys * r.random.Float64() }),
		Count: r.fill(r.Input("count", tensor.Sequences, 1), []int32{sampledKeys}),
		Batch: r.batch, Heads: heads, Score: tensor.Maxout, Probability: tensor.LeakyReLU}
	if !relative {
		return k
	}
	positions := make([]int32, 0, length)
	for _, p := range r.random.Perm(length) {
		positions = append(positions, int32(p))
	}
	sampledPositions := func(from int) *tensor.Tensor {
		chosen := slices.Sorted(slices.Values(positions[from : from+sampledKeys]))
		return r.fill(r.Input("choice", tensor.Sampled, sampledKeys, 1), chosen)
	}
	t := r.sinusoidTables()
	r.launchBefore(t)
	k.RelativeBias = tensor.SinusoidBias{F: t.F, G: t.G, E: t.E, Top: sampledPositions(0),
		Partner: sampledPositions(sampledKeys),
		P: r.floats(r.Input("p", tensor.Sampled, sampledKeys, 1),
			func() float64 { return sigmoid(r.random.NormFloat64()) })}
	return k
}

// table declares an output with the size of a table of the relative encoding.
func (r *fixture) table() *tensor.Tensor { return r.outFixed(2*heads, 2*length) }

// sinusoidTables declares the operands of the kernel that computes the tables.
func (r *fixture) sinusoidTables() tensor.Sinusoid {
	const deviation = 0.02 // standard deviation of initial weights
	return tensor.Sinusoid{F: r.table(), G: r.table(), E: r.table(),
		MulWeight: r.parameter(deviation, heads, hidden), AddWeight: r.parameter(deviation, heads, hidden),
		MulBias: r.parameter(deviation, heads), AddBias: r.parameter(deviation, heads), Counts: r.Counts,
		Frequencies: frequencies()}
}

func frequencies() *sinusoid.Frequencies {
	f, err := sinusoid.New(10000, hidden)
	if err != nil {
		panic(err) // invalid constants
	}
	return f
}

// relationKernels returns the kernels for the tables of the relative encoding. Their work is the
// matrix product of coefficients and cosines for all differences and sums of positions. The tables of
// differences are even, so negative differences do not count.
func relationKernels() []Kernel {
	size := fmt.Sprintf("L %d, %d heads, dimension %d", length, heads, hidden)
	batch := func() *fixture { return newFixture(sampledKeys, length) }
	const product = 2 * (2 * heads) * (hidden / 2) * (length + 2*length - 1)
	return []Kernel{
		{"sinusoid tables", size, work{products: product}, func(r *fixture) tensor.Kernel { return r.sinusoidTables() },
			batch},
		{"sinusoid tables backward", size, work{products: product}, func(r *fixture) tensor.Kernel {
			return tensor.SinusoidBackward{DMulWeight: r.outFixed(heads, hidden), DAddWeight: r.outFixed(heads, hidden),
				DMulBias: r.outFixed(heads), DAddBias: r.outFixed(heads),
				DF: r.fixed(1, 2*heads, 2*length), DG: r.fixed(1, 2*heads, 2*length), Counts: r.Counts,
				Frequencies: frequencies()}
		}, batch},
	}
}
