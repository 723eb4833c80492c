package conformance

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register("rowdot", rowDotCases) }

func rowDotCases(add func(...Case)) {
	for _, s := range []struct{ rows, d int }{{1, 1}, {2, 3}, {31, 5}, {33, 20}, {100, 33}, {257, 48}, {300, 1}} {
		name := fmt.Sprintf("%d rows of %d", s.rows, s.d)
		add(Case{"rowdot " + name, rows(s.rows), func(r *fixture) tensor.Kernel {
			x, w, b := r.in(tensor.Tokens, s.d), r.fixed(s.d), r.fixed(1)
			kinds := min(3, s.rows) // equal rows occur at every position of a tile
			x.set(func(i int) float64 { return x.x[i/s.d%kinds*s.d+i%s.d] })
			y := r.want(r.out(tensor.Tokens, 1), linear64(x.x, w.x, b.x, s.d, 1), 1e-6)
			r.check(func() error {
				for i := kinds; i < s.rows; i++ {
					if y.words[i] != y.words[i%kinds] {
						return fmt.Errorf("rows %d and %d are equal, but their scores are %v and %v", i%kinds, i,
							y.got[i%kinds], y.got[i])
					}
				}
				return nil
			})
			return tensor.RowDot{Y: y.Tensor, X: x.Tensor, Weight: w.Tensor, Bias: b.Tensor}
		}}, Case{"rowdot_backward " + name, rows(s.rows), func(r *fixture) tensor.Kernel {
			dy, x, w, b := r.in(tensor.Tokens, 1), r.in(tensor.Tokens, s.d), r.fixed(s.d), r.fixed(1)
			dx, dw, db := linearBackward64(dy.x, x.x, w.x, s.d, 1)
			r.derivative(func() float64 { return product(dy.x, linear64(x.x, w.x, b.x, s.d, 1)) },
				pair{x.x, dx}, pair{w.x, dw}, pair{b.x, db})
			return tensor.RowDotBackward{DX: r.target(true, tensor.Tokens, s.d, dx, 3e-7).Tensor,
				DWeight: r.want(r.outFixed(s.d), dw, 2e-6).Tensor, DBias: r.want(r.outFixed(1), db, 2e-6).Tensor,
				DY: dy.Tensor, X: x.Tensor, Weight: w.Tensor}
		}})
	}
}
