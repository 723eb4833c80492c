//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(binaryCrossEntropy)) }

func binaryCrossEntropy(r *recorder, k tensor.BinaryCrossEntropy) {
	eachExtent(k.Logits, k.Logits.Width(), func(e extent) {
		r.dispatch(e.rows("binarycrossentropy", write(e.slice(k.Loss)), write(e.slice(k.DLogits)),
			read(e.slice(k.Logits)),
			read(e.slice(k.Target)), read(k.Positive), read(k.Scale)))
	})
}
