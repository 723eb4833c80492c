package cpu

import "sftseq/internal/tensor"

func linear(r *run, k tensor.Linear) {
	y, x, b, wt := r.floats(k.Y), r.floats(k.X), r.floats(k.Bias), r.packed(k.Weight, true)
	r.eachProductRows(r.rows(k.X), func(_ *worker, lo, hi int) { r.mulTransposed(y, x, wt, b, lo, hi) })
}

func linearBackward(r *run, k tensor.LinearBackward) {
	in, out, rows := k.Weight.Width(), k.Weight.Shape[0], r.rows(k.X)
	dx, dw, db := r.floats(k.DX), r.floats(k.DWeight), r.floats(k.DBias)
	dy, x, w := r.floats(k.DY), r.floats(k.X), r.packed(k.Weight, false)
	r.eachProductRows(rows, func(_ *worker, lo, hi int) { r.mul(dx, dy, w, lo, hi, k.Accumulate) })
	r.eachProductRows(out, func(w *worker, lo, hi int) { r.transposedMul(w, dw, db, dy, x, lo, hi, rows, in, out) })
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
