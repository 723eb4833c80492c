//go:build cgo

package vk

import (
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
)

var (
	// blockWords bounds what one launch reads or writes of an operand: the least
	// that a device must be able to bind.
	blockWords = 128 << 20 / 4
	// launchOperations bounds what one launch computes: half a second's worth on a
	// slow device. The drivers of desktops kill what runs for seconds.
	launchOperations = 40e9
)

// blockRows is how many rows of a width a launch does, with so many operations
// for each: a multiple of 128.
func blockRows(width int, operations float64) int {
	return max(128, int(min(float64(blockWords/width), launchOperations/max(1, operations)))/128*128)
}

// eachBlock calls f for blocks of rows of that size.
func eachBlock(rows, size int, f func(first, n int)) {
	for first := 0; first < rows; first += size {
		f(first, min(size, rows-first))
	}
}

// window is n rows of operands whose pieces begin anywhere, as sequences do. A
// launch binds them and does the pieces that begin among the first span rows,
// which is all of these but for the length of a piece.
type window struct{ first, n, span int }

// eachWindow calls f for windows of that size onto rows in pieces of at most so
// many.
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

// of is the window's part of a tensor.
func (w window) of(t *tensor.Tensor) *tensor.Tensor { return rowsOf(t, w.first, w.n) }

// end is what shaders take as span; that of the last window has no end.
func (w window) end() uint32 {
	if w.span == 0 {
		return math.MaxUint32
	}
	return uint32(w.span)
}

// rowsOf is a block of a tensor's rows.
func rowsOf(t *tensor.Tensor, first, n int) *tensor.Tensor {
	block := *t
	block.Shape = append([]int{n}, t.Shape[1:]...)
	block.Offset += first * t.Width()
	return &block
}
