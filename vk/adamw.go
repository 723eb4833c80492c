//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(sumSquares), kernel(adamW)) }

// sumSquares splits X into blocks and each block into pieces. It sums the squares of each piece. If
// there are several pieces, it then adds their sums in a further dispatch.
func sumSquares(r *recorder, k tensor.SumSquares) {
	const pieceWords = 4096     // maximum words per piece, unless the block has maxBlockPieces pieces
	const maxBlockPieces = 1024 // maximum number of pieces per block
	pieceCount := func(n int) int { return min(maxBlockPieces, blocks(n, pieceWords)) }
	// Every block but the last has a multiple of grain/4 pieces, so that the partial sums of the next
	// block are aligned.
	blockSize := max(blockWords, pieceWords*grain/4)
	n, total := k.X.Words(), 0
	eachBlock(n, blockSize, func(_, n int) { total += pieceCount(n) })

	sum := func(y, x *tensor.Tensor, pieces int, square bool) {
		n := x.Words()
		r.dispatch(dispatch{shader: "sumsquares", constants: []uint32{boolWord(square)}, groups: pieces,
			push: []uint32{uint32(n), uint32(blocks(n, pieces))}, operands: []operand{write(y), read(x)}})
	}
	if total == 1 {
		sum(k.Y, k.X, 1, true)
		return
	}
	partialSums, offset := r.scratch(total), 0
	eachBlock(n, blockSize, func(first, n int) {
		x := tensor.At(k.X.Region, k.X.Offset+first, k.X.Name, n)
		sum(rowsOf(partialSums, offset, pieceCount(n)), x, pieceCount(n), true)
		offset += pieceCount(n)
	})
	sum(k.Y, partialSums, 1, false)
}

func adamW(r *recorder, k tensor.AdamW) {
	factors := []float32{k.Decay, float32(k.Beta1), float32(1 - k.Beta1), float32(k.Beta2), float32(1 - k.Beta2), k.Eps}
	eachExtent(k.W, k.W.Width(), func(e extent) {
		r.dispatch(e.elements("adamw", update(e.slice(k.W)), update(e.slice(k.M)), update(e.slice(k.V)),
			read(e.slice(k.G)),
			read(k.SumSquares), read(k.Step)).withPush(tensor.Bits(factors)...))
	})
}
