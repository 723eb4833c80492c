//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(gelu), kernel(geluBackward)) }

func gelu(r *recorder, k tensor.GELU) {
	eachExtent(k.X, k.X.Width(), func(e extent) {
		r.dispatch(e.elements("gelu", write(e.of(k.Y)), read(e.of(k.X))))
	})
}

func geluBackward(r *recorder, k tensor.GELUBackward) {
	eachExtent(k.X, k.X.Width(), func(e extent) {
		r.dispatch(e.elements("gelu_backward", write(e.of(k.DX)), read(e.of(k.DY)), read(e.of(k.X))))
	})
}
