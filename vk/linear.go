//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(linear), kernel(linearBackward)) }

func linear(r *recorder, k tensor.Linear) {
	in, out := k.Weight.Width(), k.Weight.Shape[0]
	eachBlock(k.X.Shape[0], blockRows(max(in, out), 2*float64(in*out)), func(first, n int) {
		r.multiply(product{form: forward, c: rowsOf(k.Y, first, n), a: rowsOf(k.X, first, n), b: k.Weight, bias: k.Bias,
			rows: k.X, first: first, m: n, n: out, k: in})
	})
}

func linearBackward(r *recorder, k tensor.LinearBackward) {
	in, out, rows := k.Weight.Width(), k.Weight.Shape[0], k.X.Shape[0]
	size := blockRows(max(in, out), 2*float64(in*out))
	eachBlock(rows, size, func(first, n int) {
		r.multiply(product{form: inputGradient, c: rowsOf(k.DX, first, n), a: rowsOf(k.DY, first, n), b: k.Weight,
			rows: k.X, first: first, m: n, n: in, k: out, accumulate: k.Accumulate})
	})
	parts := chunks(rows)
	eachBlock(parts, max(1, blockWords/(in*out)), func(firstPart, n int) {
		dw := k.DWeight
		if parts > 1 {
			dw = r.scratch(n, in*out)
		}
		eachWindow(rows, chunkLength(rows), size, func(w window) {
			r.multiply(product{form: weightGradient, c: dw, a: w.slice(k.DY), b: w.slice(k.X), rows: k.X,
				first: w.first, span: w.span,
				m: out, n: in, k: w.n, firstPart: firstPart, parts: n})
		})
		if parts > 1 {
			start := assign
			if firstPart > 0 {
				start = resume
			}
			r.sumParts(k.DWeight, dw, in*out, n, start)
		}
	})
	r.sumInParts(k.DBias, parts, func(db *tensor.Tensor) { r.columnSums(db, k.DY, parts) })
}

// columnSums sums the columns of x over each chunk of the rows, and writes the sums to y.
func (r *recorder) columnSums(y, x *tensor.Tensor, parts int) {
	const columns = 32 // columns per workgroup
	rows, width := x.Shape[0], x.Width()
	eachWindow(rows, chunkLength(rows), blockRows(width, 0), func(w window) {
		r.dispatch(dispatch{shader: "columnsums",
			push:     []uint32{axis(x), uint32(rows), uint32(width), uint32(parts), uint32(w.first), w.shaderSpan()},
			groups:   parts * blocks(width, columns),
			operands: []operand{read(w.slice(x)), write(y)}})
	})
}

// sumInParts sets y to the sum of the parts that f computes. The parts are consecutive in memory and
// added in order. If there is only one part, f writes directly to y.
func (r *recorder) sumInParts(y *tensor.Tensor, parts int, f func(y *tensor.Tensor)) {
	if parts == 1 {
		f(y)
		return
	}
	n := y.Words()
	memory := r.scratch(parts * n)
	f(memory)
	r.sumParts(y, memory, n, parts, assign)
}
