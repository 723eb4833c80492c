package cpu

import (
	"sftseq/internal/fmath"
	"sftseq/internal/tensor"
)

func gelu(r *run, k tensor.GELU) {
	n := k.X.Width()
	y, x := r.floats(k.Y), r.floats(k.X)
	r.eachRows(r.rows(k.X), func(_ *worker, lo, hi int) {
		out := y[lo*n : hi*n]
		for i, v := range x[lo*n : hi*n] {
			out[i] = fmath.GELU(v)
		}
	})
}

func geluBackward(r *run, k tensor.GELUBackward) {
	n := k.X.Width()
	dx, dy, x := r.floats(k.DX), r.floats(k.DY), r.floats(k.X)
	r.eachRows(r.rows(k.X), func(_ *worker, lo, hi int) {
		g, out := dy[lo*n:hi*n], dx[lo*n:hi*n]
		for i, v := range x[lo*n : hi*n] {
			out[i] = g[i] * fmath.GELUGrad(v)
		}
	})
}
