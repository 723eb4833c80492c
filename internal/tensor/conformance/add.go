package conformance

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register("add", addCases) }

func addCases(add func(...Case)) {
	for _, s := range []struct{ rows, n int }{{1, 1}, {2, 3}, {33, 5}, {100, 33}, {300, 48}} {
		name := fmt.Sprintf("%d rows of %d", s.rows, s.n)
		add(Case{"add " + name, rows(s.rows), func(r *fixture) tensor.Kernel {
			a, b := r.in(tensor.Tokens, s.n), r.in(tensor.Tokens, s.n)
			return tensor.Add{Y: r.want(r.out(tensor.Tokens, s.n), sum(a.x, b.x), 1e-7).Tensor,
				A: a.Tensor, B: b.Tensor}
		}}, Case{"add in place " + name, rows(s.rows), func(r *fixture) tensor.Kernel {
			y, b := r.inOut(tensor.Tokens, s.n), r.in(tensor.Tokens, s.n)
			r.want(y, sum(y.x, b.x), 1e-7)
			return tensor.Add{Y: y.Tensor, A: y.Tensor, B: b.Tensor}
		}}, Case{"zero " + name, rows(1), func(r *fixture) tensor.Kernel {
			return tensor.Zero{Y: r.want(r.outFixed(s.rows, s.n), zeros(s.rows*s.n), 0).Tensor}
		}})
	}
}
