//go:build cgo

package vk

import (
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register(kernel(huber)) }

func huber(r *recorder, k tensor.Huber) {
	eachExtent(k.Logits, k.Logits.Width(), func(e extent) {
		r.dispatch(e.rows("huber", write(e.slice(k.Loss)), write(e.slice(k.DLogits)), read(e.slice(k.Logits)),
			read(e.slice(k.Target)), read(k.Scale)).
			withPush(math.Float32bits(k.Delta)))
	})
}
