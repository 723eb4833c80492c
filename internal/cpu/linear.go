package cpu

import "sftseq/internal/tensor"

func linear(r *run, k tensor.Linear) {
	in, out := k.Weight.Width(), k.Weight.Shape[0]
	y, x, w, b := r.floats(k.Y), r.floats(k.X), r.floats(k.Weight), r.floats(k.Bias)
	r.eachRows(r.rows(k.X), func(_ *worker, lo, hi int) { mulTransposed(y, x, w, b, lo, hi, in, out) })
}

func linearBackward(r *run, k tensor.LinearBackward) {
	in, out, rows := k.Weight.Width(), k.Weight.Shape[0], r.rows(k.X)
	dx, dw, db := r.floats(k.DX), r.floats(k.DWeight), r.floats(k.DBias)
	dy, x, w := r.floats(k.DY), r.floats(k.X), r.floats(k.Weight)
	r.eachRows(rows, func(_ *worker, lo, hi int) { mul(dx, dy, w, lo, hi, in, out, k.Accumulate) })
	r.eachColumns(out, func(lo, hi int) {
		transposedMul(dw, dy, x, lo, hi, rows, in, out)
		sumColumns(db, dy, lo, hi, rows, out)
	})
}

// sumColumns computes columns lo … hi−1 of the column sums of x [rows, width].
func sumColumns(sum, x []float32, lo, hi, rows, width int) {
	clear(sum[lo:hi])
	var part [columnBlock]float32
	for r := 0; r < rows; r += sumRows {
		p := part[:hi-lo]
		clear(p)
		for i := r; i < min(rows, r+sumRows); i++ {
			for c, v := range x[i*width+lo : i*width+hi] {
				p[c] += v
			}
		}
		for c, v := range p {
			sum[lo+c] += v
		}
	}
}
