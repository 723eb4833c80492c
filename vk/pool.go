//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(pool), kernel(poolBackward)) }

// pool computes weighted sums of the rows of each sequence. It sums chunks relative to the largest
// score of each chunk, so that it reads the rows only once. Then it adds the sums of the chunks and
// computes the weights.
func pool(r *recorder, k tensor.Pool) {
	tokens, sequences, d := k.X.Shape[0], k.Y.Shape[0], k.X.Width()
	parts := tokens/minPiece + sequences + 1 // enough for the layout of firstPart in pooling.glsl
	top, sum, part, total := r.scratch(parts), r.scratch(parts), r.scratch(parts*d), r.scratch(2*sequences)
	push := []uint32{axis(k.Y), uint32(sequences), uint32(d)}

	piece := max(minPiece, blocks(tokens, maxPieces))
	eachWindow(tokens, piece, blockRows(d, 0), func(w window) {
		r.dispatch(dispatch{shader: "pool", groups: parts * blocks(d, columns),
			operands: []operand{write(top), write(sum), write(part), read(w.slice(k.X)),
				read(k.Score), read(k.Batch.Offset)},
		}.withPush(push...).withPush(uint32(parts), uint32(w.first), w.shaderSpan()))
	})
	r.dispatch(dispatch{shader: "pool_total", groups: sequences * blocks(d, columns),
		operands: []operand{write(total), write(k.Y), read(top), read(sum), read(part), read(k.Batch.Offset)},
	}.withPush(push...))
	eachExtent(k.A, 1, func(e extent) {
		r.dispatch(e.elements("pool_weights", write(e.slice(k.A)), read(e.slice(k.Score)),
			read(e.slice(k.Batch.Sequence)), read(total)))
	})
}

func poolBackward(r *recorder, k tensor.PoolBackward) {
	eachExtent(k.X, k.X.Width(), func(e extent) {
		r.dispatch(e.rows("pool_backward", write(e.slice(k.DX)), write(e.slice(k.DScore)), read(k.DY), read(k.Y),
			read(e.slice(k.A)), read(e.slice(k.X)), read(e.slice(k.Batch.Sequence))))
	})
}
