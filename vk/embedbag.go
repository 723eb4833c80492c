//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(embedBag), kernel(embedBagBackward)) }

// embedBag sums rows of a table. If the table spans several blocks, each dispatch handles one
// block of the table and one column of Row. This adds the terms in the same order as a single dispatch
// would, because each row of the table is in only one block.
func embedBag(r *recorder, k tensor.EmbedBag) {
	rows, groups := k.Table.Shape[0], k.Row.Width()
	size, step := blockRows(k.Y.Width(), 0), 1
	if rows <= size {
		step = groups
	}
	eachExtent(k.Y, max(k.Y.Width(), groups), func(e extent) {
		e.width = k.Y.Width()
		x := k.X
		eachBlock(groups, step, func(from, count int) {
			eachBlock(rows, size, func(first, n int) {
				scaled := from+count == groups && first+n == rows
				r.dispatch(e.elements("embedbag", write(e.slice(k.Y)), read(e.slice(x)),
					read(rowsOf(k.Table, first, n)), read(e.slice(k.Row)), read(e.slice(k.Scale))).
					withPush(uint32(groups), uint32(from), uint32(from+count), uint32(first), uint32(n),
						boolWord(scaled)))
				x = k.Y
			})
		})
	})
}

// embedBagBackward scales DY to DX, and sums the rows of DX over the tokens of each table row, in one
// dispatch per block of tokens. The blocks are in ascending order.
func embedBagBackward(r *recorder, k tensor.EmbedBagBackward) {
	eachExtent(k.DX, k.DX.Width(), func(e extent) {
		r.dispatch(e.elements("embedbag_backward", write(e.slice(k.DX)), read(e.slice(k.DY)), read(e.slice(k.Scale))))
	})
	eachExtent(k.DTable, k.DTable.Width(), func(e extent) {
		table := write(e.slice(k.DTable))
		eachBlock(k.DX.Shape[0], blockRows(k.DX.Width(), 0), func(first, n int) {
			r.dispatch(e.elements("embedbag_backward_table", table, read(rowsOf(k.DX, first, n)),
				read(rowsOf(k.Offset, e.first, e.n+1)), read(k.Token)).withPush(uint32(first), uint32(n)))
			table = update(e.slice(k.DTable))
		})
	})
}
