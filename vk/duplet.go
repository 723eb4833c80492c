//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(duplet), kernel(dupletBackward)) }

// dupletRows is the number of rows per workgroup in rows.glsl with the default specialisation
// constants.
const dupletRows = 256 / 32

func duplet(r *recorder, k tensor.Duplet) {
	d, rows := k.X.Width(), k.Y.Shape[0]
	eachBlock(k.X.Shape[0], blockRows(d, 0), func(first, n int) {
		y := write(k.Y)
		if first > 0 {
			y = update(k.Y)
		}
		r.dispatch(dispatch{shader: "duplet", groups: blocks(rows, dupletRows),
			push: []uint32{uint32(d), axis(k.Y), uint32(rows), uint32(first), uint32(n)},
			operands: []operand{y, write(k.P), read(rowsOf(k.X, first, n)), read(k.Noised), read(k.Top),
				read(k.Partner), read(k.Count), read(k.Batch.Offset), read(k.Batch.SampleOffset)}})
	})
}

func dupletBackward(r *recorder, k tensor.DupletBackward) {
	heads := 0
	if k.DP != nil {
		heads = k.DP.Width()
	}
	r.zero(k.DScore)
	d, rows, tokens := k.X.Width(), k.DY.Shape[0], k.X.Shape[0]
	size := blockRows(d, 0)
	var differences *tensor.Tensor
	if tokens > size {
		differences = r.scratch(rows, d)
	}
	eachBlock(tokens, size, func(first, n int) {
		slice := window{first: first, n: n}.slice
		r.dispatch(dispatch{shader: "duplet_backward", groups: blocks(rows, dupletRows),
			push: []uint32{uint32(d), uint32(heads), axis(k.DY), uint32(rows), uint32(first), uint32(n),
				boolWord(first+n == tokens)},
			operands: []operand{update(slice(k.DX)), update(k.DScore), read(k.DY), read(k.DP), read(k.P),
				read(slice(k.X)), read(k.Noised), read(k.Top), read(k.Partner), read(k.Count),
				read(k.Batch.Offset), read(k.Batch.SampleOffset), update(differences)}})
	})
}
