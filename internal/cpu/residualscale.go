package cpu

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(byRows(residualScale), byRows(residualScaleBackward)) }

func residualScale(r *run, k tensor.ResidualScale) rowwise {
	n, s := k.Y.Width(), r.floats(k.Scale)[0]
	y, a, b := r.floats(k.Y), r.floats(k.A), r.floats(k.B)
	return rowwise{n: r.rows(k.Y), block: func(_ *worker, lo, hi int) {
		r.device.simd.AddScaled(y[lo*n:hi*n], a[lo*n:hi*n], b[lo*n:hi*n], s)
	}}
}

func residualScaleBackward(r *run, k tensor.ResidualScaleBackward) rowwise {
	n, rows, s := k.DY.Width(), r.rows(k.DY), r.floats(k.Scale)[0]
	db, dy, b := r.floats(k.DB), r.floats(k.DY), r.floats(k.B)
	ds := r.floats(k.DScale)
	if !k.Accumulate {
		ds[0] = 0
	}
	dots := r.parts(blocks(rows))
	return rowwise{n: rows, block: func(_ *worker, lo, hi int) {
		i := lo / rowBlock
		r.device.simd.RowDot(dots[i:i+1], dy[lo*n:hi*n], b[lo*n:hi*n], 0) // before DB, which may share the memory of B
		r.device.simd.Scale(db[lo*n:hi*n], dy[lo*n:hi*n], s)
	}, finish: func() {
		for _, v := range dots {
			ds[0] += v
		}
	}}
}
