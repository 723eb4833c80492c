//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(sumSquares), kernel(adamW)) }

// sumSquares computes the sum of the squares of each piece of a block, then adds the sums of all
// pieces.
func sumSquares(r *recorder, k tensor.SumSquares) {
	const minWords, most = 4096, 1024 // minimum number of words per piece; maximum number of pieces per block
	count := func(n int) int { return min(most, blocks(n, minWords)) }
	words := max(blockWords, minWords*grain/4) // aligns the sums of the next block
	n, total := k.X.Words(), 0
	eachBlock(n, words, func(_, n int) { total += count(n) })

	sum := func(y, x *tensor.Tensor, pieces int, square bool) {
		n := x.Words()
		r.dispatch(dispatch{shader: "sumsquares", constants: []uint32{word(square)}, groups: pieces,
			push: []uint32{uint32(n), uint32(blocks(n, pieces))}, operands: []operand{write(y), read(x)}})
	}
	if total == 1 {
		sum(k.Y, k.X, 1, true)
		return
	}
	parts, at := r.scratch(total), 0
	eachBlock(n, words, func(first, n int) {
		x := tensor.At(k.X.Region, k.X.Offset+first, k.X.Name, n)
		sum(rowsOf(parts, at, count(n)), x, count(n), true)
		at += count(n)
	})
	sum(k.Y, parts, 1, false)
}

func adamW(r *recorder, k tensor.AdamW) {
	factors := []float32{k.Decay, float32(k.Beta1), float32(1 - k.Beta1), float32(k.Beta2), float32(1 - k.Beta2), k.Eps}
	eachExtent(k.W, k.W.Width(), func(e extent) {
		r.dispatch(e.elements("adamw", update(e.of(k.W)), update(e.of(k.M)), update(e.of(k.V)), read(e.of(k.G)),
			read(k.SumSquares), read(k.Step)).with(tensor.Bits(factors)...))
	})
}
