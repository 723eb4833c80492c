//go:build cgo

package vk

import (
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register(kernel(huber)) }

func huber(r *recorder, k tensor.Huber) {
	eachExtent(k.Logits, k.Logits.Width(), func(e extent) {
		r.dispatch(e.rows("huber", write(e.of(k.Loss)), write(e.of(k.DLogits)), read(e.of(k.Logits)),
			read(e.of(k.Target)), read(k.Scale)).
			with(math.Float32bits(k.Delta)))
	})
}
