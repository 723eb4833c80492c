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
	// As many pieces as there are threads now: an element's sum is the same in any.
	piece := roundUp((out+len(r.device.idle))/(len(r.device.idle)+1), productRows)
	r.each((out+piece-1)/piece, func(w *worker, i int) {
		r.transposedMul(w, dw, db, dy, x, i*piece, min(out, (i+1)*piece), rows, in, out)
	})
}
