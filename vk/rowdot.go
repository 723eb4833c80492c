//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(rowDot), kernel(rowDotBackward)) }

func rowDot(r *recorder, k tensor.RowDot) {
	eachExtent(k.X, k.X.Width(), func(e extent) {
		r.dispatch(e.rows("rowdot", write(e.slice(k.Y)), read(e.slice(k.X)), read(k.Weight), read(k.Bias)))
	})
}

func rowDotBackward(r *recorder, k tensor.RowDotBackward) {
	d, n := k.X.Width(), pieces(k.X.Shape[0])
	dw, db := r.scratch(n*d), r.scratch(n)
	eachExtent(k.X, d, func(e extent) {
		r.dispatch(e.columns("rowdot_backward", n,
			update(e.slice(k.DX)), update(dw), update(db), read(e.slice(k.DY)), read(e.slice(k.X)), read(k.Weight)))
	})
	r.sumParts(k.DWeight, dw, d, n, assign)
	r.sumParts(k.DBias, db, 1, n, assign)
}
