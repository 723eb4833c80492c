package cpu

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(byRows(huber)) }

func huber(r *run, k tensor.Huber) rowwise {
	n := k.Logits.Width()
	loss, dlogits, logits, target, scale := r.floats(k.Loss), r.floats(k.DLogits), r.floats(k.Logits),
		r.floats(k.Target), r.floats(k.Scale)
	return rowwise{n: r.rows(k.Logits), block: func(_ *worker, lo, hi int) {
		for e := lo; e < hi; e++ {
			var sum float32
			for c := range n {
				d := logits[e*n+c] - target[e*n+c]
				g := min(max(d, -k.Delta), k.Delta)
				sum += float32(g * (d - g/2)) // d²/2, or δ(|d| − δ/2) if |d| > δ = Delta
				dlogits[e*n+c] = scale[c] * g
			}
			loss[e] = sum
		}
	}}
}
