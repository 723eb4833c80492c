package cpu

import "sftseq/internal/tensor"

func feedForward(r *run, k tensor.FeedForward) {
	y, x, hidden := r.floats(k.Y), r.floats(k.X), k.Weight1.Shape[0]
	w1, b1 := r.packed(k.Weight1, true), r.floats(k.Bias1)
	w2, b2 := r.packed(k.Weight2, true), r.floats(k.Bias2)
	in, out := k.X.Width(), k.Y.Width()
	r.eachProductRows(r.rows(k.X), func(w *worker, lo, hi int) {
		h := w.floats(productRows * hidden)[:(hi-lo)*hidden]
		r.mulTransposed(h, x[lo*in:hi*in], w1, b1, 0, hi-lo)
		r.device.simd.GELU(h, h)
		r.mulTransposed(y[lo*out:hi*out], h, w2, b2, 0, hi-lo)
	})
}
