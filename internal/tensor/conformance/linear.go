package conformance

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/tensor"
)

// linear64 returns y = x·wᵀ + b with w [out, in].
func linear64(x, w, b []float64, in, out int) []float64 {
	var y []float64
	for i := 0; i < len(x); i += in {
		for o := range out {
			y = append(y, product(x[i:i+in], w[o*in:(o+1)*in])+b[o])
		}
	}
	return y
}

func linearBackward64(dy, x, w []float64, in, out int) (dx, dw, db []float64) {
	dx, dw, db = zeros(len(x)), zeros(len(w)), zeros(out)
	for i := range len(x) / in {
		for o := range out {
			g := dy[i*out+o]
			db[o] += g
			for c := range in {
				dx[i*in+c] += g * w[o*in+c]
				dw[o*in+c] += g * x[i*in+c]
			}
		}
	}
	return dx, dw, db
}

func init() { register("linear", linearCases) }

func linearCases(add func(...Case)) {
	for _, s := range []struct{ rows, in, out int }{
		{1, 1, 1}, {2, 3, 5}, {3, 5, 3}, {31, 20, 1}, {32, 1, 33}, {33, 33, 48}, {100, 48, 20}, {257, 5, 4},
		{300, 48, 33}, {5, 300, 2}, {2, 4, 129},
		{100, 1024, 3}, {100, 3, 1024}, // rows are 4 KiB apart
	} {
		for _, mode := range []string{"", "_backward", "_backward accumulate"} {
			name := fmt.Sprintf("linear%s %d rows, %d to %d", mode, s.rows, s.in, s.out)
			add(Case{name, rows(s.rows), func(r *fixture) tensor.Kernel {
				x, w, b := r.in(tensor.Tokens, s.in), r.fixed(s.out, s.in), r.fixed(s.out)
				if mode == "" {
					y := r.want(r.out(tensor.Tokens, s.out), linear64(x.x, w.x, b.x, s.in, s.out), 3e-6)
					return tensor.Linear{Y: y.Tensor, X: x.Tensor, Weight: w.Tensor, Bias: b.Tensor}
				}
				dy := r.in(tensor.Tokens, s.out)
				dx, dw, db := linearBackward64(dy.x, x.x, w.x, s.in, s.out)
				r.derivative(func() float64 { return product(dy.x, linear64(x.x, w.x, b.x, s.in, s.out)) },
					pair{x.x, dx}, pair{w.x, dw}, pair{b.x, db})
				add := mode == "_backward accumulate"
				return tensor.LinearBackward{
					DX:      r.target(add, tensor.Tokens, s.in, dx, 3e-6).Tensor,
					DWeight: r.want(r.outFixed(s.out, s.in), dw, 3e-6).Tensor,
					DBias:   r.want(r.outFixed(s.out), db, 3e-6).Tensor,
					DY:      dy.Tensor, X: x.Tensor, Weight: w.Tensor, Accumulate: add}
			}})
		}
	}
}
