//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(gather)) }

// gather processes the rows of X in blocks that can be bound, with one dispatch per block. The
// dispatch for the first block clears the results of all other rows; later dispatches write the
// results of their blocks.
func gather(r *recorder, k tensor.Gather) {
	eachExtent(k.Y, k.Y.Width(), func(e extent) {
		eachBlock(k.X.Shape[0], blockRows(e.width, 0), func(first, n int) {
			r.dispatch(e.elements("gather", write(e.slice(k.Y)), read(rowsOf(k.X, first, n)),
				read(e.slice(k.Row))).withPush(uint32(first), uint32(n)))
		})
	})
}
