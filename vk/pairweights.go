//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(pairWeights), kernel(pairWeightsBackward)) }

func pairWeights(r *recorder, k tensor.PairWeights) {
	r.dispatch(dispatch{shader: "pairweights", push: []uint32{uint32(k.W.Shape[0]), uint32(k.MulWeight.Width())},
		groups:   blocks(k.W.Words(), 64),
		operands: []operand{write(k.W), read(k.MulWeight), read(k.MulBias), read(k.AddWeight), read(k.AddBias)}})
}

func pairWeightsBackward(r *recorder, k tensor.PairWeightsBackward) {
	rows, width := k.D.Shape[0], k.D.Width()
	sums := r.scratch(width)
	parts := chunks(rows)
	r.sumInParts(sums, parts, func(y *tensor.Tensor) { r.columnSums(y, k.D, parts) })
	r.dispatch(dispatch{shader: "pairweights_backward",
		push:   []uint32{uint32(k.DP.Width()), uint32(k.DMulWeight.Width()), uint32(rows)},
		groups: blocks(max(k.DP.Words(), width), 256),
		operands: []operand{write(k.DMulWeight), write(k.DMulBias), write(k.DAddWeight), write(k.DAddBias),
			write(k.DP), read(k.D), read(sums)}})
}
