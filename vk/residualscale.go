//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(residualScale), kernel(residualScaleBackward)) }

func residualScale(r *recorder, k tensor.ResidualScale) {
	eachExtent(k.Y, k.Y.Width(), func(e extent) {
		r.dispatch(e.elements("residualscale", write(e.slice(k.Y)), read(e.slice(k.A)), read(e.slice(k.B)),
			read(k.Scale)))
	})
}

func residualScaleBackward(r *recorder, k tensor.ResidualScaleBackward) {
	n := pieces(k.DY.Shape[0])
	dots := r.scratch(n)
	eachExtent(k.DY, k.DY.Width(), func(e extent) {
		d := e.columns("residualscale_backward", n,
			write(e.slice(k.DB)), update(dots), read(e.slice(k.DY)), read(e.slice(k.B)), read(k.Scale))
		d.groups = n // a workgroup processes all columns
		r.dispatch(d)
	})
	start := assign
	if k.Accumulate {
		start = addTo
	}
	r.sumParts(k.DScale, dots, 1, n, start)
}
