//go:build cgo

package vk

import "sftseq/internal/tensor"

func linear(r *recorder, k tensor.Linear) {
	in, out := k.Weight.Width(), k.Weight.Shape[0]
	eachBlock(k.X.Shape[0], max(in, out), blockWords, func(first, n int) {
		r.multiply(product{form: forward, c: rowsOf(k.Y, first, n), a: rowsOf(k.X, first, n), b: k.Weight, bias: k.Bias,
			rows: k.X, first: first, m: n, n: out, k: in})
	})
}

func linearBackward(r *recorder, k tensor.LinearBackward) {
	in, out, rows := k.Weight.Width(), k.Weight.Shape[0], k.X.Shape[0]
	eachBlock(rows, max(in, out), blockWords, func(first, n int) {
		r.multiply(product{form: inputGradient, c: rowsOf(k.DX, first, n), a: rowsOf(k.DY, first, n), b: k.Weight,
			rows: k.X, first: first, m: n, n: in, k: out, accumulate: k.Accumulate})
	})
	parts := chunks(rows)
	r.inParts(k.DWeight, parts, func(dw *tensor.Tensor) {
		r.multiply(product{form: weightGradient, c: dw, a: k.DY, b: k.X,
			rows: k.X, m: out, n: in, k: rows, parts: parts})
	})
	r.inParts(k.DBias, parts, func(db *tensor.Tensor) { r.columnSums(db, k.DY, parts) })
}

// columnSums sums the columns of x over each chunk of its rows.
func (r *recorder) columnSums(y, x *tensor.Tensor, parts int) {
	const columns = 32 // of a workgroup
	r.dispatch(dispatch{shader: "columnsums",
		push:     []uint32{axis(x), uint32(x.Shape[0]), uint32(x.Width()), uint32(parts)},
		groups:   parts * blocks(x.Width(), columns),
		operands: []operand{read(x), write(y)}})
}

// inParts lets f compute y in parts, one after the other in memory, and adds
// them in order. A single part is y itself.
func (r *recorder) inParts(y *tensor.Tensor, parts int, f func(y *tensor.Tensor)) {
	if parts == 1 {
		f(y)
		return
	}
	n := y.Words()
	memory := r.scratch(parts * n)
	f(memory)
	r.sumParts(y, memory, n, parts, false)
}
