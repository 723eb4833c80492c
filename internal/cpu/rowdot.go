package cpu

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(byRows(rowDot), byRows(rowDotBackward)) }

func rowDot(r *run, k tensor.RowDot) rowwise {
	d := k.X.Width()
	y, x, w, b := r.floats(k.Y), r.floats(k.X), r.floats(k.Weight), r.floats(k.Bias)[0]
	return rowwise{n: r.rows(k.X), block: func(_ *worker, lo, hi int) {
		r.device.simd.RowDot(y[lo:hi], x[lo*d:hi*d], w, b)
	}}
}

func rowDotBackward(r *run, k tensor.RowDotBackward) rowwise {
	d, rows := k.X.Width(), r.rows(k.X)
	dx, dw, db := r.floats(k.DX), r.floats(k.DWeight), r.floats(k.DBias)
	dy, x, w := r.floats(k.DY), r.floats(k.X), r.floats(k.Weight)
	parts := r.parts(blocks(rows) * (d + 1))
	return rowwise{n: rows, block: func(_ *worker, lo, hi int) {
		r.device.simd.AddOuter(dx[lo*d:hi*d], dy[lo:hi], w)
		part := parts[lo/rowBlock*(d+1):][:d+1]
		r.device.simd.WeightedSum(part[:d], dy[lo:hi], x[lo*d:hi*d])
		var sum float32
		for _, v := range dy[lo:hi] {
			sum += v
		}
		part[d] = sum
	}, finish: func() { r.sumParts(parts, dw, db) }}
}
