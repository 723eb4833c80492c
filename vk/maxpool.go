//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(maxPool), kernel(maxPoolBackward)) }

// maxPool computes the maxima of chunks of each sequence, like pool, and then the maxima over the
// chunks.
func maxPool(r *recorder, k tensor.MaxPool) {
	rows, sequences, d := k.X.Shape[0], k.Y.Shape[0], k.X.Width()
	parts := rows/minPiece + sequences + 1 // enough for the layout of firstPart in pooling.glsl
	maxima, argMax := r.scratch(parts*d), r.scratch(parts*d)
	push := []uint32{axis(k.Y), uint32(sequences), uint32(d)}

	piece := max(minPiece, blocks(rows, maxPieces))
	eachWindow(rows, piece, blockRows(d, 0), func(w window) {
		r.dispatch(dispatch{shader: "maxpool", groups: parts * blocks(d, columns),
			operands: []operand{write(maxima), write(argMax), read(w.slice(k.X)), read(k.First), read(k.Count)},
		}.withPush(push...).withPush(uint32(parts), uint32(w.first), w.shaderSpan(), boolWord(k.Count != nil)))
	})
	r.dispatch(dispatch{shader: "maxpool_total", groups: sequences * blocks(d, columns),
		operands: []operand{write(k.Y), write(k.Arg), read(maxima), read(argMax), read(k.First)},
	}.withPush(push...))
}

func maxPoolBackward(r *recorder, k tensor.MaxPoolBackward) {
	r.zero(k.DX)
	eachExtent(k.DY, k.DY.Width(), func(e extent) {
		eachBlock(k.DX.Shape[0], blockRows(e.width, 0), func(first, n int) {
			r.dispatch(e.elements("maxpool_backward", update(rowsOf(k.DX, first, n)), read(e.slice(k.DY)),
				read(e.slice(k.Arg)), read(k.First)).withPush(uint32(first), uint32(n)))
		})
	})
}
