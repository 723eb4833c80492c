package cpu

import "sftseq/internal/tensor"

func rowDot(r *run, k tensor.RowDot) {
	d := k.X.Width()
	y, x, w, b := r.floats(k.Y), r.floats(k.X), r.floats(k.Weight), r.floats(k.Bias)[0]
	r.eachRows(r.rows(k.X), func(_ *worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			y[i] = dot(x[i*d:(i+1)*d], w) + b
		}
	})
}

func rowDotBackward(r *run, k tensor.RowDotBackward) {
	d, rows := k.X.Width(), r.rows(k.X)
	dx, dw, db := r.floats(k.DX), r.floats(k.DWeight), r.floats(k.DBias)
	dy, x, w := r.floats(k.DY), r.floats(k.X), r.floats(k.Weight)
	r.eachRows(rows, func(_ *worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			g := dy[i]
			for c, v := range w {
				dx[i*d+c] += float32(g * v)
			}
		}
	})
	r.eachColumns(d, func(lo, hi int) {
		clear(dw[lo:hi])
		var part [columnBlock]float32
		for at := 0; at < rows; at += sumRows {
			p := part[:hi-lo]
			clear(p)
			for i := at; i < min(rows, at+sumRows); i++ {
				for c, v := range x[i*d+lo : i*d+hi] {
					p[c] += float32(dy[i] * v)
				}
			}
			for c, v := range p {
				dw[lo+c] += v
			}
		}
	})
	sumColumns(db, dy, 0, 1, rows, 1)
}
