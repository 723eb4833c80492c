//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(leak), kernel(leakBackward)) }

func leak(r *recorder, k tensor.Leak) {
	sequences, heads := k.Y.Shape[0], k.Y.Width()
	r.dispatch(dispatch{shader: "leak", groups: sequences * heads,
		push:     []uint32{axis(k.Y), uint32(sequences), uint32(heads)},
		operands: []operand{write(k.Y), read(k.C), read(k.Count), read(k.Batch.SampleOffset)}})
}

func leakBackward(r *recorder, k tensor.LeakBackward) {
	eachExtent(k.C, k.C.Width(), func(e extent) {
		r.dispatch(e.elements("leak_backward", write(e.slice(k.DC)), read(k.DY), read(e.slice(k.C)), read(k.Count),
			read(k.Batch.SampleOffset)))
	})
}
