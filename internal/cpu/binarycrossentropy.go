package cpu

import (
	"github.com/sftseq/sftseq/internal/fmath"
	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register(byRows(binaryCrossEntropy)) }

func binaryCrossEntropy(r *run, k tensor.BinaryCrossEntropy) rowwise {
	n := k.Logits.Width()
	loss, dlogits, logits, target := r.floats(k.Loss), r.floats(k.DLogits), r.floats(k.Logits), r.floats(k.Target)
	positive, scale := r.floats(k.Positive), r.floats(k.Scale)
	return rowwise{n: r.rows(k.Logits), block: func(_ *worker, lo, hi int) {
		for e := lo; e < hi; e++ {
			var sum float32
			for c := range n {
				sign, weight := float32(1), float32(1)
				if target[e*n+c] == 1 {
					sign, weight = -1, positive[c] // the loss decreases with the logit
				}
				term, slope := fmath.SoftplusSigmoid(sign * logits[e*n+c])
				sum += float32(weight * term)
				dlogits[e*n+c] = scale[c] * float32(weight*(sign*slope))
			}
			loss[e] = sum
		}
	}}
}
