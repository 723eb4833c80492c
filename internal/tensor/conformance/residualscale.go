package conformance

import (
	"fmt"
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
)

func residual64(a, b, scale []float64) []float64 {
	y := zeros(len(a))
	for i := range a {
		y[i] = a[i] + scale[0]*b[i]
	}
	return y
}

func residualBackward64(dy, b, scale []float64) (db, dscale []float64) {
	db, dscale = zeros(len(b)), zeros(1)
	for i, g := range dy {
		db[i] = scale[0] * g
		dscale[0] += g * b[i]
	}
	return db, dscale
}

func init() { register("residualscale", residualScaleCases) }

func residualScaleCases(add func(...Case)) {
	for _, s := range []struct{ rows, n int }{{1, 1}, {2, 3}, {33, 5}, {100, 33}, {300, 48}} {
		for _, mode := range []string{"", "_backward", "_backward accumulate"} {
			name := fmt.Sprintf("residualscale%s %d rows of %d", mode, s.rows, s.n)
			add(Case{name, rows(s.rows), func(r *fixture) tensor.Kernel {
				a, b, scale := r.in(tensor.Tokens, s.n), r.in(tensor.Tokens, s.n), r.fixed(1)
				if mode == "" {
					y := r.want(r.out(tensor.Tokens, s.n), residual64(a.x, b.x, scale.x), 2e-7)
					return tensor.ResidualScale{Y: y.Tensor, A: a.Tensor, B: b.Tensor, Scale: scale.Tensor}
				}
				dy := r.in(tensor.Tokens, s.n)
				db, dscale := residualBackward64(dy.x, b.x, scale.x)
				r.derivative(func() float64 { return product(dy.x, residual64(a.x, b.x, scale.x)) }, pair{a.x, dy.x},
					pair{b.x, db}, pair{scale.x, dscale})
				k := tensor.ResidualScaleBackward{DB: r.want(r.out(tensor.Tokens, s.n), db, 2e-7).Tensor,
					DY: dy.Tensor, B: b.Tensor, Scale: scale.Tensor, Accumulate: mode == "_backward accumulate"}
				size := math.Sqrt(float64(len(dy.x))) // scale of a sum of len(dy.x) terms
				if k.Accumulate {
					o := r.inOutFixed(1)
					k.DScale = r.want(o, sum(o.x, dscale), 3e-6).Tensor
					o.scale = size
				} else {
					o := r.want(r.outFixed(1), dscale, 3e-6)
					k.DScale, o.scale = o.Tensor, size
				}
				return k
			}})
		}
	}
}
