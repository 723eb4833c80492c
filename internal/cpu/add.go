package cpu

import "sftseq/internal/tensor"

func add(r *run, k tensor.Add) {
	n := k.Y.Width()
	y, a, b := r.floats(k.Y), r.floats(k.A), r.floats(k.B)
	r.eachRows(r.rows(k.Y), func(_ *worker, lo, hi int) {
		for i := lo * n; i < hi*n; i++ {
			y[i] = a[i] + b[i]
		}
	})
}
