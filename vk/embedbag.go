//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(embedBag), kernel(embedBagBackward)) }

// embedBag binds the whole table: blocks of it would decide the order of sums.
func embedBag(r *recorder, k tensor.EmbedBag) {
	eachExtent(k.Y, max(k.Y.Width(), k.Row.Width()), func(e extent) {
		e.width = k.Y.Width()
		r.dispatch(e.elements("embedbag", write(e.of(k.Y)), read(e.of(k.X)), read(k.Table), read(e.of(k.Row)),
			read(e.of(k.Scale))).with(uint32(k.Row.Width())))
	})
}

func embedBagBackward(r *recorder, k tensor.EmbedBagBackward) {
	eachExtent(k.DX, k.DX.Width(), func(e extent) {
		r.dispatch(e.elements("embedbag_backward", write(e.of(k.DX)), read(e.of(k.DY)), read(e.of(k.Scale))))
	})
	eachExtent(k.DTable, k.DTable.Width(), func(e extent) {
		r.dispatch(e.elements("embedbag_backward_table", write(e.of(k.DTable)), read(k.DX),
			read(rowsOf(k.Offset, e.first, e.n+1)), read(k.Token)))
	})
}
