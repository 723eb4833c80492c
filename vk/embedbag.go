//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(embedBag), kernel(embedBagBackward)) }

// embedBag sums rows of a table. If the table has several blocks, each launch adds one place of the
// tokens' rows from one block. The order of the terms is that of one launch, as only one block
// contains the row.
func embedBag(r *recorder, k tensor.EmbedBag) {
	rows, groups := k.Table.Shape[0], k.Row.Width()
	size, step := blockRows(k.Y.Width(), 0), 1
	if rows <= size {
		step = groups
	}
	eachExtent(k.Y, max(k.Y.Width(), groups), func(e extent) {
		e.width = k.Y.Width()
		x := k.X
		eachBlock(groups, step, func(from, places int) {
			eachBlock(rows, size, func(first, n int) {
				scaled := from+places == groups && first+n == rows
				r.dispatch(e.elements("embedbag", write(e.of(k.Y)), read(e.of(x)), read(rowsOf(k.Table, first, n)),
					read(e.of(k.Row)), read(e.of(k.Scale))).
					with(uint32(groups), uint32(from), uint32(from+places), uint32(first), uint32(n), word(scaled)))
				x = k.Y
			})
		})
	})
}

// embedBagBackward sums the gradients of a table row over its tokens, in one launch per block of
// tokens. The blocks are in ascending order.
func embedBagBackward(r *recorder, k tensor.EmbedBagBackward) {
	eachExtent(k.DX, k.DX.Width(), func(e extent) {
		r.dispatch(e.elements("embedbag_backward", write(e.of(k.DX)), read(e.of(k.DY)), read(e.of(k.Scale))))
	})
	eachExtent(k.DTable, k.DTable.Width(), func(e extent) {
		table := write(e.of(k.DTable))
		eachBlock(k.DX.Shape[0], blockRows(k.DX.Width(), 0), func(first, n int) {
			r.dispatch(e.elements("embedbag_backward_table", table, read(rowsOf(k.DX, first, n)),
				read(rowsOf(k.Offset, e.first, e.n+1)), read(k.Token)).with(uint32(first), uint32(n)))
			table = update(e.of(k.DTable))
		})
	})
}
