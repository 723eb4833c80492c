package conformance

import (
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
)

// convolution64 calls term for each row i and tap t with the row j = i + (t − (taps−1)/2)·dilation,
// if j is in the same sequence. If backward is true, j is the row that reads row i through this
// tap.
func convolution64(r *fixture, taps, dilation int, backward bool, term func(i, j, t int)) {
	for b := range r.shape.lengths {
		for i := r.offset[b]; i < r.offset[b+1]; i++ {
			for t := range taps {
				j := i + (t-(taps-1)/2)*dilation
				if backward {
					j = 2*i - j
				}
				if j >= r.offset[b] && j < r.offset[b+1] {
					term(i, j, t)
				}
			}
		}
	}
}

// convolutionSum64 returns the argument of GELU in a convolution.
func convolutionSum64(r *fixture, x, weight, bias []float64, dilation int) []float64 {
	d, z := len(bias), zeros(len(x))
	for i := range z {
		z[i] = bias[i%d]
	}
	convolution64(r, len(weight)/d, dilation, false, func(i, j, t int) {
		for c := range d {
			z[i*d+c] += weight[t*d+c] * x[j*d+c]
		}
	})
	return z
}

func convolutionBackward64(r *fixture, dz, x, weight []float64, d, dilation int) (dx, dweight, dbias []float64) {
	dx, dweight, dbias = zeros(len(x)), zeros(len(weight)), zeros(d)
	convolution64(r, len(weight)/d, dilation, true, func(i, j, t int) {
		for c := range d {
			dx[i*d+c] += weight[t*d+c] * dz[j*d+c]
			dweight[t*d+c] += dz[j*d+c] * x[i*d+c]
		}
	})
	for i, g := range dz {
		dbias[i%d] += g
	}
	return dx, dweight, dbias
}

func init() { register("convolution", convolutionCases) }

func convolutionCases(add func(...Case)) {
	odd := []int{1, 2, 31, 1, 33, 100, 7, 64}
	for _, s := range []struct {
		lengths           []int
		d, taps, dilation int
	}{
		{[]int{1}, 1, 1, 1}, {odd, 3, 1, 5}, {odd, 5, 3, 1}, {odd, 33, 7, 1}, {odd, 48, 5, 2}, {odd, 20, 5, 32},
		{odd, 17, 9, 1 << 24},          // all taps except the centre are outside the sequences
		{[]int{5, 3, 1}, 7, 63, 1},     // most taps are outside the sequences
		{[]int{200, 40}, 19, 63, 1},    // taps reach outside a block of rows
		{[]int{500, 1, 90}, 4, 63, 11}, // taps reach far outside a block of rows
		{[]int{600}, 130, 7, 1},
	} {
		for _, mode := range []string{"", " without z", "_backward", "_backward accumulate"} {
			name := fmt.Sprintf("convolution%s %d sequences of up to %d, %d channels, %d taps, dilation %d",
				mode, len(s.lengths), slices.Max(s.lengths), s.d, s.taps, s.dilation)
			add(Case{name, shape{s.lengths, 1}, func(r *fixture) tensor.Kernel {
				x, weight, bias := r.in(tensor.Tokens, s.d), r.fixed(s.taps, s.d), r.fixed(s.d)
				z := convolutionSum64(r, x.x, weight.x, bias.x, s.dilation)
				if mode == "" || mode == " without z" {
					a := r.in(tensor.Tokens, s.d)
					k := tensor.Convolution{Y: r.want(r.out(tensor.Tokens, s.d), sum(a.x, gelu64(z)), 2e-6).Tensor,
						A: a.Tensor, X: x.Tensor,
						Weight: weight.Tensor, Bias: bias.Tensor, Batch: r.batch, Dilation: s.dilation}
					if mode == "" {
						k.Z = r.want(r.out(tensor.Tokens, s.d), z, 2e-6).Tensor
					}
					return k
				}
				dz := r.in(tensor.Tokens, s.d)
				dx, dweight, dbias := convolutionBackward64(r, dz.x, x.x, weight.x, s.d, s.dilation)
				r.derivative(func() float64 {
					return product(dz.x,
						convolutionSum64(r, x.x, weight.x, bias.x, s.dilation))
				},
					pair{x.x, dx}, pair{weight.x, dweight}, pair{bias.x, dbias})
				add := mode == "_backward accumulate"
				return tensor.ConvolutionBackward{DX: r.target(add, tensor.Tokens, s.d, dx, 3e-6).Tensor,
					DWeight: r.want(r.outFixed(s.taps, s.d), dweight, 3e-6).Tensor,
					DBias:   r.want(r.outFixed(s.d), dbias, 3e-6).Tensor,
					DZ:      dz.Tensor, X: x.Tensor, Weight: weight.Tensor, Batch: r.batch,
					Dilation: s.dilation, Accumulate: add}
			}})
		}
	}
}
