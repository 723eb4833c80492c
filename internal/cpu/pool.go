package cpu

import (
	"sftseq/internal/fmath"
	"sftseq/internal/tensor"
)

func pool(r *run, k tensor.Pool) {
	s, d := r.sequences(k.Batch), k.X.Width()
	y, a, x, score := r.floats(k.Y), r.floats(k.A), r.floats(k.X), r.floats(k.Score)
	r.each(s.n, func(w *worker, b int) {
		lo, hi := s.tokens(b)
		top := score[lo]
		for _, v := range score[lo:hi] {
			top = max(top, v)
		}
		out, part := y[b*d:(b+1)*d], w.floats(d)
		clear(out)
		var total float32
		for at := lo; at < hi; at += sumRows {
			var sum float32
			clear(part)
			for i := at; i < min(hi, at+sumRows); i++ {
				e := fmath.Exp(score[i] - top)
				a[i] = e
				sum += e
				for c, v := range x[i*d : (i+1)*d] {
					part[c] += float32(e * v)
				}
			}
			total += sum
			for c, v := range part {
				out[c] += v
			}
		}
		for c := range out {
			out[c] /= total
		}
		for i := lo; i < hi; i++ {
			a[i] /= total
		}
	})
}

func poolBackward(r *run, k tensor.PoolBackward) {
	d := k.X.Width()
	dx, dscore, dy, y := r.floats(k.DX), r.floats(k.DScore), r.floats(k.DY), r.floats(k.Y)
	a, x, sequence := r.floats(k.A), r.floats(k.X), r.ints(k.Batch.Sequence)
	r.eachRows(r.rows(k.X), func(_ *worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			b := int(sequence[i])
			g, u, out, xi := dy[b*d:(b+1)*d], y[b*d:(b+1)*d], dx[i*d:(i+1)*d], x[i*d:(i+1)*d]
			var sum float32
			for c, v := range g {
				out[c] = a[i] * v
				sum += float32(v * (xi[c] - u[c]))
			}
			dscore[i] = a[i] * sum
		}
	})
}
