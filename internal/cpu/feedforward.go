package cpu

import (
	"github.com/sftseq/sftseq/internal/simd"
	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register(byRows(feedForward)) }

func feedForward(r *run, k tensor.FeedForward) rowwise {
	y, x, hidden := r.floats(k.Y), r.floats(k.X), k.Weight1.Shape[0]
	w1, b1 := r.packed(k.Weight1, true), r.floats(k.Bias1)
	w2, b2 := r.packed(k.Weight2, true), r.floats(k.Bias2)
	in, out := k.X.Width(), k.Y.Width()
	p, stride := &r.device.simd.Products, hidden+cachePad
	return rowwise{n: r.rows(k.X), block: func(w *worker, lo, hi int) {
		memory := w.floats(rowBlock*stride + leftSize(in))
		h := memory[:(hi-lo)*stride]
		p.Mul(simd.Rows(h, stride), leftFactor(memory[rowBlock*stride:], x, in, lo, hi), w1, simd.Rows(b1, 0), hi-lo)
		r.device.simd.GELU(h, h) // includes the padding between rows
		p.Mul(simd.Rows(y[lo*out:], out), simd.Rows(h, stride), w2, simd.Rows(b2, 0), hi-lo)
	}}
}
