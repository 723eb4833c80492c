package cpu

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(byRows(add), whole(zero)) }

func add(r *run, k tensor.Add) rowwise {
	n := k.Y.Width()
	y, a, b := r.floats(k.Y), r.floats(k.A), r.floats(k.B)
	return rowwise{n: r.rows(k.Y), block: func(_ *worker, lo, hi int) {
		r.device.simd.Add(y[lo*n:hi*n], a[lo*n:hi*n], b[lo*n:hi*n])
	}}
}

func zero(r *run, k tensor.Zero) { clear(r.floats(k.Y)) }
