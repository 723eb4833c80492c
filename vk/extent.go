//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

// extent is a block of a launch's rows that the device can bind. Elementwise kernels and row
// kernels process an extent in one dispatch; see extent.glsl.
type extent struct {
	whole    *tensor.Tensor // tensor whose axis counts the rows
	first, n int            // first row and number of rows of the block
	width    int            // words per row of the launch's widest operand
}

// eachExtent calls f for each extent of the rows of t. width is the number of words per row of the
// launch's widest operand.
func eachExtent(t *tensor.Tensor, width int, f func(e extent)) {
	eachBlock(t.Shape[0], blockRows(width, 0), func(first, n int) { f(extent{t, first, n, width}) })
}

// slice returns the rows of the extent in another tensor.
func (e extent) slice(t *tensor.Tensor) *tensor.Tensor { return rowsOf(t, e.first, e.n) }

// push returns the push constants of extent.glsl for the extent, then the argument more.
func (e extent) push(more ...uint32) []uint32 {
	return append([]uint32{axis(e.whole), uint32(e.whole.Shape[0]), uint32(e.first), uint32(e.n),
		uint32(e.width)}, more...)
}

// elements returns a dispatch of a shader that includes elements.glsl.
func (e extent) elements(shader string, operands ...operand) dispatch {
	const elements = 1024 // elements per workgroup
	return dispatch{shader: shader, push: e.push(), groups: blocks(e.n*e.width, elements), operands: operands}
}

// rows returns a dispatch of a shader that includes rows.glsl and sums over each row. The
// number of invocations per row is a power of two from 8 to 256: the lowest with at most four elements
// per invocation, or 256 if there is none.
func (e extent) rows(shader string, operands ...operand) dispatch {
	lanes := 8
	for lanes < 256 && 4*lanes < e.width {
		lanes *= 2
	}
	return dispatch{shader: shader, constants: []uint32{uint32(lanes)}, push: e.push(),
		groups: blocks(e.n, 256/lanes), operands: operands}
}

// withPush returns the dispatch with the words appended to its push constants.
func (d dispatch) withPush(push ...uint32) dispatch {
	d.push = append(d.push, push...)
	return d
}
