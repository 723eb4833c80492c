package cpu

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(byRows(linear), byRows(linearBackward)) }

func linear(r *run, k tensor.Linear) rowwise {
	y, x, b, wt := r.floats(k.Y), r.floats(k.X), r.floats(k.Bias), r.packed(k.Weight, true)
	return rowwise{n: r.rows(k.X), block: func(wk *worker, lo, hi int) { r.mulTransposed(wk, y, x, wt, b, lo, hi) }}
}

// linearBackward computes the gradient of X row by row. After all rows it computes the gradients of
// the weights and the bias, which are sums over the rows.
func linearBackward(r *run, k tensor.LinearBackward) rowwise {
	in, out, rows := k.Weight.Width(), k.Weight.Shape[0], r.rows(k.X)
	dx, dw, db := r.floats(k.DX), r.floats(k.DWeight), r.floats(k.DBias)
	dy, x, w := r.floats(k.DY), r.floats(k.X), r.packed(k.Weight, false)
	return rowwise{n: rows,
		block: func(wk *worker, lo, hi int) { r.mul(wk, dx, dy, w, lo, hi, k.Accumulate) },
		finish: func() {
			// One piece for this thread and each idle thread; sums do not depend on the pieces.
			piece := roundUp((out+len(r.device.idle))/(len(r.device.idle)+1), rowBlock)
			r.parallel((out+piece-1)/piece, func(w *worker, i int) {
				r.transposedMul(w, dw, db, dy, x, i*piece, min(out, (i+1)*piece), rows, in, out)
			})
		}}
}
