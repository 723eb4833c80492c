package bench

import (
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/internal/tensor"
)

// elementKernels returns kernels with one pass over rows that are as wide as the residual stream or
// the hidden layer of the MLP.
func elementKernels() []Kernel {
	const rows, inner, taps, averages = 4096, 4 * hidden, 7, 8
	batch := func() *fixture { return newFixture(0, length, length) }
	wide, narrow := fmt.Sprintf("%d×%d", rows, inner), fmt.Sprintf("%d×%d", rows, hidden)
	tapped := fmt.Sprintf("%s, %d taps", narrow, taps)
	norm := func(r *fixture) tensor.LayerNorm {
		return tensor.LayerNorm{Y: r.out(tensor.Tokens, hidden), X: r.normal(tensor.Tokens, hidden, 1),
			Mean: r.out(tensor.Tokens, 1),
			RStd: r.out(tensor.Tokens, 1), Gain: r.parameter(1, hidden), Bias: r.parameter(1, hidden), Eps: 1e-5}
	}
	return []Kernel{
		{"gelu", wide, work{}, func(r *fixture) tensor.Kernel {
			return tensor.GELU{Y: r.out(tensor.Tokens, inner), X: r.normal(tensor.Tokens, inner, 1)}
		}, batch},
		{"gelu backward", wide, work{}, func(r *fixture) tensor.Kernel {
			return tensor.GELUBackward{DX: r.out(tensor.Tokens, inner), DY: r.normal(tensor.Tokens, inner, 1),
				X: r.normal(tensor.Tokens, inner, 1)}
		}, batch},
		{"dropout", wide, work{}, func(r *fixture) tensor.Kernel {
			return tensor.Dropout{Y: r.out(tensor.Tokens, inner), X: r.normal(tensor.Tokens, inner, 1), Batch: r.batch,
				Stream: philox.StreamDropoutGELU, Rate: 0.2}
		}, batch},
		{"layernorm", narrow, work{}, func(r *fixture) tensor.Kernel { return norm(r) }, batch},
		{"layernorm backward", narrow, work{}, func(r *fixture) tensor.Kernel {
			n := norm(r)
			r.launchBefore(n)
			return tensor.LayerNormBackward{DX: r.out(tensor.Tokens, hidden), DGain: r.outFixed(hidden),
				DBias: r.outFixed(hidden),
				DY:    r.normal(tensor.Tokens, hidden, 1), X: n.X, Mean: n.Mean, RStd: n.RStd, Gain: n.Gain}
		}, batch},
		{"convolution", tapped, work{}, func(r *fixture) tensor.Kernel {
			return tensor.Convolution{Y: r.out(tensor.Tokens, hidden), A: r.normal(tensor.Tokens, hidden, 1),
				X: r.normal(tensor.Tokens, hidden, 1),
				Z: r.out(tensor.Tokens, hidden), Weight: r.parameter(1, taps, hidden), Bias: r.parameter(1, hidden),
				Batch: r.batch, Dilation: 1}
		}, batch},
		{"convolution backward", tapped, work{}, func(r *fixture) tensor.Kernel {
			return tensor.ConvolutionBackward{DX: r.out(tensor.Tokens, hidden), DWeight: r.outFixed(taps, hidden),
				DBias: r.outFixed(hidden),
				DZ:    r.normal(tensor.Tokens, hidden, 1), X: r.normal(tensor.Tokens, hidden, 1),
				Weight: r.parameter(1, taps, hidden), Batch: r.batch, Dilation: 1}
		}, batch},
		{"moving average", narrow, work{}, func(r *fixture) tensor.Kernel {
			return tensor.MovingAverage{Z: r.out(tensor.Tokens, hidden), X: r.normal(tensor.Tokens, hidden, 1),
				Decay: r.parameter(1, averages, hidden), Gain: r.parameter(1, averages, hidden),
				Bias: r.parameter(1, hidden), Batch: r.batch}
		}, batch},
		{"moving average backward", narrow, work{}, func(r *fixture) tensor.Kernel {
			return tensor.MovingAverageBackward{DX: r.out(tensor.Tokens, hidden), DDecay: r.outFixed(averages, hidden),
				DGain: r.outFixed(averages, hidden), DBias: r.outFixed(hidden),
				DZ: r.normal(tensor.Tokens, hidden, 1), X: r.normal(tensor.Tokens, hidden, 1),
				Decay: r.parameter(1, averages, hidden), Gain: r.parameter(1, averages, hidden), Batch: r.batch}
		}, batch},
		{"rowdot", narrow, work{}, func(r *fixture) tensor.Kernel {
			return tensor.RowDot{Y: r.out(tensor.Tokens, 1), X: r.normal(tensor.Tokens, hidden, 1),
				Weight: r.parameter(1, hidden), Bias: r.parameter(1, 1)}
		}, batch},
	}
}

// tokenKernels returns the kernels for sampling, the embedding gradient and the loss.
func tokenKernels() []Kernel {
	const (
		long       = 65536
		vocabulary = 17
		examples   = 4096
		labels     = 10
	)
	choose := func(noise bool) func(r *fixture) tensor.Kernel {
		return func(r *fixture) tensor.Kernel {
			return tensor.Sample{Noised: r.out(tensor.Tokens, 1), Top: r.out(tensor.Sampled, 1),
				Partner: r.out(tensor.Sampled, 1),
				Count:   r.out(tensor.Sequences, 1), Score: r.normal(tensor.Tokens, 1, 1), Batch: r.batch,
				K: sampledKeys, Noise: noise}
		}
	}
	choice := func() *fixture { return newFixture(sampledKeys, long) }
	size := fmt.Sprintf("%d of %d", sampledKeys, long)
	return []Kernel{
		{"sample", size, work{}, choose(false), choice},
		{"sample with noise", size, work{}, choose(true), choice},
		{"embed backward", fmt.Sprintf("%d×%d, %d tokens", vocabulary, hidden, 2*length), work{},
			func(r *fixture) tensor.Kernel {
				return tensor.EmbedBackward{DWeight: r.outFixed(vocabulary, hidden),
					DY:    r.normal(tensor.Tokens, hidden, 1),
					Token: r.ids(r.batch.Tokens, vocabulary)}
			}, func() *fixture { return newFixture(0, length, length) }},
		{"crossentropy", fmt.Sprintf("%d×%d", examples, labels), work{}, func(r *fixture) tensor.Kernel {
			return tensor.CrossEntropy{Loss: r.out(tensor.Examples, 1), DLogits: r.out(tensor.Examples, labels),
				Logits: r.normal(tensor.Examples, labels, 1),
				Label:  r.ids(r.Input("label", tensor.Examples, examples, 1), labels), Scale: r.fixed(1, labels)}
		}, func() *fixture { return newFixture(0, slices.Repeat([]int{1}, examples)...) }},
	}
}

// updateKernels returns the kernels of AdamW with about the number of weights of the paper's ListOps model.
func updateKernels() []Kernel {
	const weights = 1_200_000
	size := fmt.Sprintf("%d", weights)
	batch := func() *fixture { return newFixture(0, 1) }
	zero := func() float64 { return 0 }
	gradient := func(r *fixture) *tensor.Tensor {
		return r.state(tensor.Gradients, func() float64 { return r.random.NormFloat64() / 100 }, weights)
	}
	return []Kernel{
		{"sumsquares", size, work{}, func(r *fixture) tensor.Kernel {
			return tensor.SumSquares{Y: r.outFixed(1), X: gradient(r)}
		}, batch},
		{"adamw", size, work{}, func(r *fixture) tensor.Kernel {
			step := tensor.AdamWStep{GradientScale: 1, MaxNorm: 1, LearningRate: 1e-3, Correction1: 1, Correction2: 1}
			k := tensor.AdamW{W: r.parameter(1, weights),
				M: r.state(tensor.Moment1, zero, weights), V: r.state(tensor.Moment2, zero, weights),
				G: gradient(r), SumSquares: r.outFixed(1), Step: r.Input("step", tensor.Fixed, tensor.AdamWStepWords),
				Decay: 0.01, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}
			r.fill(k.Step, tensor.As[int32](tensor.Bits(step.Words())))
			r.launchBefore(tensor.SumSquares{Y: k.SumSquares, X: k.G})
			return k
		}, batch},
	}
}
