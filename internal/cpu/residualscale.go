package cpu

import "sftseq/internal/tensor"

func residualScale(r *run, k tensor.ResidualScale) {
	n, s := k.Y.Width(), r.floats(k.Scale)[0]
	y, a, b := r.floats(k.Y), r.floats(k.A), r.floats(k.B)
	r.eachRows(r.rows(k.Y), func(_ *worker, lo, hi int) {
		for i := lo * n; i < hi*n; i++ {
			y[i] = a[i] + float32(s*b[i])
		}
	})
}

func residualScaleBackward(r *run, k tensor.ResidualScaleBackward) {
	n, rows, s := k.DY.Width(), r.rows(k.DY), r.floats(k.Scale)[0]
	db, dy, b := r.floats(k.DB), r.floats(k.DY), r.floats(k.B)
	ds := r.floats(k.DScale)
	if !k.Accumulate {
		ds[0] = 0
	}
	for at := 0; at < rows; at += sumRows { // before DB, which may be B's memory
		var part float32
		for i := at; i < min(rows, at+sumRows); i++ {
			part += dot(dy[i*n:(i+1)*n], b[i*n:])
		}
		ds[0] += part
	}
	r.eachRows(rows, func(_ *worker, lo, hi int) {
		for i := lo * n; i < hi*n; i++ {
			db[i] = s * dy[i]
		}
	})
}
