package cpu

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(byRows(gelu), byRows(geluBackward)) }

func gelu(r *run, k tensor.GELU) rowwise {
	n := k.X.Width()
	y, x := r.floats(k.Y), r.floats(k.X)
	return rowwise{n: r.rows(k.X), block: func(_ *worker, lo, hi int) {
		r.device.simd.GELU(y[lo*n:hi*n], x[lo*n:hi*n])
	}}
}

func geluBackward(r *run, k tensor.GELUBackward) rowwise {
	n := k.X.Width()
	dx, dy, x := r.floats(k.DX), r.floats(k.DY), r.floats(k.X)
	return rowwise{n: r.rows(k.X), block: func(_ *worker, lo, hi int) {
		r.device.simd.GELUBackward(dx[lo*n:hi*n], dy[lo*n:hi*n], x[lo*n:hi*n])
	}}
}
