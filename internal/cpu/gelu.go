package cpu

import "sftseq/internal/tensor"

func gelu(r *run, k tensor.GELU) {
	n := k.X.Width()
	y, x := r.floats(k.Y), r.floats(k.X)
	r.eachRows(r.rows(k.X), func(_ *worker, lo, hi int) {
		r.device.simd.GELU(y[lo*n:hi*n], x[lo*n:hi*n])
	})
}

func geluBackward(r *run, k tensor.GELUBackward) {
	n := k.X.Width()
	dx, dy, x := r.floats(k.DX), r.floats(k.DY), r.floats(k.X)
	r.eachRows(r.rows(k.X), func(_ *worker, lo, hi int) {
		r.device.simd.GELUBackward(dx[lo*n:hi*n], dy[lo*n:hi*n], x[lo*n:hi*n])
	})
}
