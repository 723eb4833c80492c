//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(gelu), kernel(geluBackward)) }

func gelu(r *recorder, k tensor.GELU) {
	eachExtent(k.X, k.X.Width(), func(e extent) {
		r.dispatch(e.elements("gelu", write(e.slice(k.Y)), read(e.slice(k.X))))
	})
}

func geluBackward(r *recorder, k tensor.GELUBackward) {
	eachExtent(k.X, k.X.Width(), func(e extent) {
		r.dispatch(e.elements("gelu_backward", write(e.slice(k.DX)), read(e.slice(k.DY)), read(e.slice(k.X))))
	})
}
