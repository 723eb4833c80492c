//go:build cgo

package vk

import (
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
)

var (
	// blockWords is the maximum that one launch reads or writes of an operand, equal to the
	// smallest binding that a device must support.
	blockWords = 128 << 20 / 4
	// launchOperations is the maximum work of one launch: half a second on a slow device. Desktop
	// drivers kill launches that take seconds.
	launchOperations = 40e9
)

// blockRows returns the number of rows of the given width in a launch, with the given operations
// per row: a multiple of 128.
func blockRows(width int, operations float64) int {
	return max(128, int(min(float64(blockWords/width), launchOperations/max(1, operations)))/128*128)
}

// eachBlock calls f for blocks of size rows.
func eachBlock(rows, size int, f func(first, n int)) {
	for first := 0; first < rows; first += size {
		f(first, min(size, rows-first))
	}
}

// window is a range of n rows of operands that consist of pieces of any length, such as sequences.
// A launch binds these rows and processes the pieces that begin within the first span rows, which
// is n minus the length of a piece.
type window struct{ first, n, span int }

// eachWindow calls f for windows of size rows; no piece is longer than piece.
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

// of returns the window's part of a tensor.
func (w window) of(t *tensor.Tensor) *tensor.Tensor { return rowsOf(t, w.first, w.n) }

// end returns the span for shaders; that of the last window is unlimited.
func (w window) end() uint32 {
	if w.span == 0 {
		return math.MaxUint32
	}
	return uint32(w.span)
}

// rowsOf returns a block of a tensor's rows.
func rowsOf(t *tensor.Tensor, first, n int) *tensor.Tensor {
	block := *t
	block.Shape = append([]int{n}, t.Shape[1:]...)
	block.Offset += first * t.Width()
	return &block
}
