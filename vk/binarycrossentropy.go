//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(binaryCrossEntropy)) }

func binaryCrossEntropy(r *recorder, k tensor.BinaryCrossEntropy) {
	eachExtent(k.Logits, k.Logits.Width(), func(e extent) {
		r.dispatch(e.rows("binarycrossentropy", write(e.of(k.Loss)), write(e.of(k.DLogits)), read(e.of(k.Logits)),
			read(e.of(k.Target)), read(k.Positive), read(k.Scale)))
	})
}
