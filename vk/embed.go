//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(embed), kernel(embedBackward)) }

func embed(r *recorder, k tensor.Embed) {
	eachExtent(k.Y, k.Y.Width(), func(e extent) {
		r.dispatch(e.elements("embed", write(e.slice(k.Y)), read(e.slice(k.Token)), read(k.Weight)))
	})
}

// embedBackward dispatches a workgroup for each id, chunk of the tokens and block of columns. It uses
// more chunks for a smaller vocabulary, whose ids have more tokens, up to one chunk per minTokens of
// the batch's capacity.
func embedBackward(r *recorder, k tensor.EmbedBackward) {
	const enoughGroups, minTokens = 512, 256
	ids := k.DWeight.Shape[0]
	n := max(1, min(enoughGroups/ids, maxPieces, blocks(k.DY.Shape[0], minTokens)))
	r.sumInParts(k.DWeight, n, func(dw *tensor.Tensor) {
		eachExtent(k.DY, k.DY.Width(), func(e extent) {
			d := e.elements("embed_backward", update(dw), read(e.slice(k.DY)),
				read(e.slice(k.Token))).withPush(uint32(ids), uint32(n))
			d.groups = n * ids * blocks(e.width, columns)
			r.dispatch(d)
		})
	})
}
