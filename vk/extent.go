//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

// extent is a block of the rows of a launch, with as many rows as can be bound. Elementwise and row
// kernels process it in one dispatch; see extent.glsl.
type extent struct {
	whole           *tensor.Tensor // the tensor that counts the rows
	first, n, width int
}

// eachExtent calls f for the blocks of rows of t; the widest operand has width words per row.
func eachExtent(t *tensor.Tensor, width int, f func(e extent)) {
	eachBlock(t.Shape[0], blockRows(width, 0), func(first, n int) { f(extent{t, first, n, width}) })
}

// of returns the same block of another tensor.
func (e extent) of(t *tensor.Tensor) *tensor.Tensor { return rowsOf(t, e.first, e.n) }

// push returns the push constants, which begin with the extent.
func (e extent) push(more ...uint32) []uint32 {
	return append([]uint32{axis(e.whole), uint32(e.whole.Shape[0]), uint32(e.first), uint32(e.n),
		uint32(e.width)}, more...)
}

// elements dispatches an elementwise shader: elements.glsl.
func (e extent) elements(shader string, operands ...operand) dispatch {
	const elements = 1024 // per workgroup
	return dispatch{shader: shader, push: e.push(), groups: blocks(e.n*e.width, elements), operands: operands}
}

// rows dispatches a shader that sums over each row: rows.glsl. Four elements per invocation keep it
// busy and its partners few.
func (e extent) rows(shader string, operands ...operand) dispatch {
	lanes := 8
	for lanes < 256 && 4*lanes < e.width {
		lanes *= 2
	}
	return dispatch{shader: shader, constants: []uint32{uint32(lanes)}, push: e.push(),
		groups: blocks(e.n, 256/lanes), operands: operands}
}

// with appends push constants.
func (d dispatch) with(push ...uint32) dispatch {
	d.push = append(d.push, push...)
	return d
}
