//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(crossEntropy)) }

func crossEntropy(r *recorder, k tensor.CrossEntropy) {
	eachExtent(k.Logits, k.Logits.Width(), func(e extent) {
		r.dispatch(e.rows("crossentropy", write(e.of(k.Loss)), update(e.of(k.DLogits)), read(e.of(k.Logits)),
			read(e.of(k.Label)), read(k.Scale)))
	})
}
