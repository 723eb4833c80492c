package cpu

import (
	"slices"

	"github.com/sftseq/sftseq/internal/fmath"
	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register(byRows(crossEntropy)) }

func crossEntropy(r *run, k tensor.CrossEntropy) rowwise {
	n := k.Logits.Width()
	loss, dlogits, logits, label := r.floats(k.Loss), r.floats(k.DLogits), r.floats(k.Logits), r.ints(k.Label)
	scales := r.floats(k.Scale)
	row := func(e int) {
		z, g := logits[e*n:(e+1)*n], dlogits[e*n:(e+1)*n]
		top := slices.Max(z)
		var sum float32
		for c, v := range z {
			g[c] = fmath.Exp(v - top)
			sum += g[c]
		}
		for c := range g {
			g[c] /= sum
		}
		loss[e] = fmath.Log(sum) - (z[label[e]] - top)
		g[label[e]]--
		scale := scales[label[e]]
		for c := range g {
			g[c] *= scale
		}
	}
	return rowwise{n: r.rows(k.Logits), block: func(_ *worker, lo, hi int) {
		for e := lo; e < hi; e++ {
			row(e)
		}
	}}
}
