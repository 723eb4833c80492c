//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(add), kernel(zero)) }

func add(r *recorder, k tensor.Add) {
	eachExtent(k.Y, k.Y.Width(), func(e extent) {
		r.dispatch(e.elements("add", write(e.slice(k.Y)), read(e.slice(k.A)), read(e.slice(k.B))))
	})
}

func zero(r *recorder, k tensor.Zero) { r.zero(k.Y) }
