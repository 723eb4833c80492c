package conformance

import (
	"fmt"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
)

// norm64 normalises rows of width d.
func norm64(x, gain, bias []float64, d int, eps float64) (y, mean, rstd []float64) {
	for i := 0; i < len(x); i += d {
		var m, v float64
		for _, u := range x[i : i+d] {
			m += u / float64(d)
		}
		for _, u := range x[i : i+d] {
			v += (u - m) * (u - m) / float64(d)
		}
		s := 1 / math.Sqrt(v+eps)
		mean, rstd = append(mean, m), append(rstd, s)
		for c, u := range x[i : i+d] {
			y = append(y, gain[c]*(u-m)*s+bias[c])
		}
	}
	return y, mean, rstd
}

func normBackward64(dy, x, gain []float64, d int, eps float64) (dx, dgain, dbias []float64) {
	dgain, dbias = zeros(d), zeros(d)
	hat, _, rstd := norm64(x, slices.Repeat([]float64{1}, d), zeros(d), d, eps)
	for i := 0; i < len(x); i += d {
		var mg, mgx float64
		for c := range d {
			g := gain[c] * dy[i+c]
			mg += g / float64(d)
			mgx += g * hat[i+c] / float64(d)
			dgain[c] += dy[i+c] * hat[i+c]
			dbias[c] += dy[i+c]
		}
		for c := range d {
			dx = append(dx, rstd[i/d]*(gain[c]*dy[i+c]-mg-hat[i+c]*mgx))
		}
	}
	return dx, dgain, dbias
}

func init() { register("layernorm", layerNormCases) }

func layerNormCases(add func(...Case)) {
	for _, s := range []struct {
		rows, d int
		eps     float64
	}{{1, 1, 0.25}, {2, 3, 1e-5}, {31, 5, 0.1}, {100, 20, 1e-5}, {257, 33, 1e-5}, {300, 48, 1e-5}} {
		for _, mode := range []string{"", "_backward", "_backward accumulate", "_backward in place"} {
			eps := float64(float32(s.eps))
			name := fmt.Sprintf("layernorm%s %d rows of %d, eps %g", mode, s.rows, s.d, s.eps)
			add(Case{name, rows(s.rows), func(r *fixture) tensor.Kernel {
				x, gain, bias := r.in(tensor.Tokens, s.d), r.fixed(s.d), r.fixed(s.d)
				x.set(func(i int) float64 { return 3 + 2*x.x[i] })
				y, mean, rstd := norm64(x.x, gain.x, bias.x, s.d, eps)
				if mode == "" {
					return tensor.LayerNorm{Y: r.want(r.out(tensor.Tokens, s.d), y, 2e-6).Tensor, X: x.Tensor,
						Mean: r.want(r.out(tensor.Tokens, 1), mean, 3e-7).Tensor,
						RStd: r.want(r.out(tensor.Tokens, 1), rstd, 1e-6).Tensor,
						Gain: gain.Tensor, Bias: bias.Tensor, Eps: float32(eps)}
				}
				return layerNormBackwardCase(r, mode, x, gain, bias, mean, rstd, eps)
			}})
		}
	}
}

func layerNormBackwardCase(r *fixture, mode string, x, gain, bias *operand, mean, rstd []float64,
	eps float64) tensor.Kernel {
	d := x.columns
	saved := func(v []float64) *operand {
		o := r.in(tensor.Tokens, 1)
		o.set(func(i int) float64 { return v[i] })
		return o
	}
	k := tensor.LayerNormBackward{X: x.Tensor, Mean: saved(mean).Tensor, RStd: saved(rstd).Tensor, Gain: gain.Tensor}
	var dy *operand
	if mode == "_backward in place" { // the model computes the gradient in place between two layers
		dy = r.inOut(tensor.Tokens, d)
	} else {
		dy = r.in(tensor.Tokens, d)
	}
	dx, dgain, dbias := normBackward64(dy.x, x.x, gain.x, d, eps)
	r.derivative(func() float64 {
		y, _, _ := norm64(x.x, gain.x, bias.x, d, eps)
		return product(dy.x, y)
	}, pair{x.x, dx}, pair{gain.x, dgain}, pair{bias.x, dbias})
	switch mode {
	case "_backward in place":
		k.DX = r.want(dy, dx, 3e-6).Tensor
	default:
		k.Accumulate = mode == "_backward accumulate"
		k.DX = r.target(k.Accumulate, tensor.Tokens, d, dx, 3e-6).Tensor
	}
	k.DY = dy.Tensor
	k.DGain = r.want(r.outFixed(d), dgain, 2e-6).Tensor
	k.DBias = r.want(r.outFixed(d), dbias, 2e-6).Tensor
	return k
}
