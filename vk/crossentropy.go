//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(crossEntropy)) }

func crossEntropy(r *recorder, k tensor.CrossEntropy) {
	eachExtent(k.Logits, k.Logits.Width(), func(e extent) {
		r.dispatch(e.rows("crossentropy", write(e.slice(k.Loss)), update(e.slice(k.DLogits)), read(e.slice(k.Logits)),
			read(e.slice(k.Label)), read(k.Scale)))
	})
}
