package cpu

import (
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register(whole(pool), whole(poolBackward)) }

func pool(r *run, k tensor.Pool) {
	s, d := r.sequences(k.Batch), k.X.Width()
	y, a, x, score := r.floats(k.Y), r.floats(k.A), r.floats(k.X), r.floats(k.Score)
	kernels := r.device.simd
	r.parallel(s.n, func(w *worker, b int) {
		lo, hi := s.tokens(b)
		top := slices.Max(score[lo:hi])
		for i, v := range score[lo:hi] {
			a[lo+i] = v - top
		}
		kernels.Exp(a[lo:hi], a[lo:hi])
		out, part := y[b*d:(b+1)*d], w.floats(d)
		clear(out)
		var total float32
		for at := lo; at < hi; at += sumRows {
			end := min(hi, at+sumRows)
			var sum float32
			for _, e := range a[at:end] {
				sum += e
			}
			total += sum
			kernels.WeightedSum(part, a[at:end], x[at*d:end*d])
			kernels.Add(out, out, part)
		}
		kernels.Scale(out, out, 1/total)
		kernels.Scale(a[lo:hi], a[lo:hi], 1/total)
	})
}

func poolBackward(r *run, k tensor.PoolBackward) {
	s, d := r.sequences(k.Batch), k.X.Width()
	dx, dscore, dy, y := r.floats(k.DX), r.floats(k.DScore), r.floats(k.DY), r.floats(k.Y)
	a, x, sequence := r.floats(k.A), r.floats(k.X), r.ints(k.Batch.Sequence)
	r.eachRows(r.rows(k.X), func(_ *worker, lo, hi int) {
		for lo < hi {
			b := int(sequence[lo])
			_, end := s.tokens(b)
			end = min(end, hi)
			r.device.simd.PoolBackward(dx[lo*d:end*d], dscore[lo:end], a[lo:end], x[lo*d:end*d],
				dy[b*d:(b+1)*d], y[b*d:(b+1)*d])
			lo = end
		}
	})
}
