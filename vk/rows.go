//go:build cgo

package vk

import (
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
)

var (
	// blockWords is the maximum number of words per binding of an operand that can be split across dispatches.
	// It equals the largest binding that every device supports.
	blockWords = 128 << 20 / 4
	// maxDispatchOperations is the maximum number of operations per dispatch: half a second on a slow
	// device. Desktop drivers kill dispatches that take seconds.
	maxDispatchOperations = 40e9
)

// blockRows returns the number of rows per dispatch, a multiple of 128, for rows of the given width
// in words and the given operations per row.
func blockRows(width int, operations float64) int {
	return max(128, int(min(float64(blockWords/width), maxDispatchOperations/max(1, operations)))/128*128)
}

// eachBlock calls f for each block of at most size rows.
func eachBlock(rows, size int, f func(first, n int)) {
	for first := 0; first < rows; first += size {
		f(first, min(size, rows-first))
	}
}

// window is a range of n rows of operands that consist of pieces, such as tiles or chunks. A dispatch
// binds these rows and processes the pieces that begin within the first span rows. The rows after
// the span complete the last piece. A span of 0 is unlimited.
type window struct{ first, n, span int }

// eachWindow splits the rows into windows of at most max(size, 128+piece) rows and calls f for each.
// The argument piece is the maximum length of a piece.
func eachWindow(rows, piece, size int, f func(w window)) {
	if rows <= size {
		f(window{n: rows})
		return
	}
	span := max(128, (size-piece)/128*128)
	for first := 0; first < rows; first += span {
		w := window{first, min(span+piece, rows-first), span}
		if first+span >= rows {
			w.span = 0
		}
		f(w)
	}
}

// slice returns the window's rows of a tensor.
func (w window) slice(t *tensor.Tensor) *tensor.Tensor { return rowsOf(t, w.first, w.n) }

// shaderSpan returns the span as a push constant, in which the largest uint32 means unlimited.
func (w window) shaderSpan() uint32 {
	if w.span == 0 {
		return math.MaxUint32
	}
	return uint32(w.span)
}

// rowsOf returns n rows of a tensor, beginning at the index first.
func rowsOf(t *tensor.Tensor, first, n int) *tensor.Tensor {
	block := *t
	block.Shape = append([]int{n}, t.Shape[1:]...)
	block.Offset += first * t.Width()
	return &block
}
