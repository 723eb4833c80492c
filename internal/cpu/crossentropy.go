package cpu

import (
	"slices"

	"github.com/sftseq/sftseq/internal/fmath"
	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register(byRows(crossEntropy)) }

// manyClasses is the minimum number of classes for which the vector kernels are faster.
const manyClasses = 64

func crossEntropy(r *run, k tensor.CrossEntropy) rowwise {
	n := k.Logits.Width()
	loss, dlogits, logits, label := r.floats(k.Loss), r.floats(k.DLogits), r.floats(k.Logits), r.ints(k.Label)
	scales := r.floats(k.Scale)
	row := func(e int) {
		z, g, l := logits[e*n:(e+1)*n], dlogits[e*n:(e+1)*n], label[e]
		if n >= manyClasses {
			simd := r.device.simd
			top := simd.Max(z)
			sum := simd.ExpSum(g, z, top)
			loss[e] = fmath.Log(sum) - (z[l] - top)
			own := g[l] / sum
			simd.Scale(g, g, scales[l]/sum)
			g[l] = scales[l] * (own - 1)
			return
		}
		top := slices.Max(z)
		var sum float32
		for c, v := range z {
			g[c] = fmath.Exp(v - top)
			sum += g[c]
		}
		for c := range g {
			g[c] /= sum
		}
		loss[e] = fmath.Log(sum) - (z[l] - top)
		g[l]--
		for c := range g {
			g[c] *= scales[l]
		}
	}
	return rowwise{n: r.rows(k.Logits), block: func(_ *worker, lo, hi int) {
		for e := lo; e < hi; e++ {
			row(e)
		}
	}}
}
