package cpu

import (
	"math"

	"github.com/sftseq/sftseq/internal/simd"
	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register(whole(sumSquares), whole(adamW)) }

// updateBlock is the number of parameters that a worker processes at a time.
const updateBlock = 1 << 14

func sumSquares(r *run, k tensor.SumSquares) {
	x := r.floats(k.X)
	partialSums := make([]float64, (len(x)+updateBlock-1)/updateBlock)
	r.parallel(len(partialSums), func(_ *worker, i int) {
		partialSums[i] = r.device.simd.SumSquares(x[i*updateBlock : min(len(x), (i+1)*updateBlock)])
	})
	var total float64
	for _, s := range partialSums {
		total += s
	}
	r.floats(k.Y)[0] = float32(total)
}

func adamW(r *run, k tensor.AdamW) {
	squares := r.floats(k.SumSquares)[0]
	if squares-squares != 0 { // NaN or infinite: change no weight
		return
	}
	w, m, v, g := r.floats(k.W), r.floats(k.M), r.floats(k.V), r.floats(k.G)
	s := r.floats(k.Step)
	step := tensor.AdamWStep{GradientScale: s[0], MaxNorm: s[1], LearningRate: s[2],
		Correction1: s[3], Correction2: s[4]}
	scale := step.GradientScale
	if step.MaxNorm > 0 {
		norm := float32(math.Sqrt(float64(squares))) * scale
		scale *= min(1, step.MaxNorm/(norm+1e-6))
	}
	c := simd.AdamWFactors{scale, float32(k.Beta1), float32(1 - k.Beta1), float32(k.Beta2), float32(1 - k.Beta2),
		step.Correction1, step.Correction2, -step.LearningRate, k.Eps, 1 - float32(step.LearningRate*k.Decay)}
	r.parallel((len(w)+updateBlock-1)/updateBlock, func(_ *worker, i int) {
		lo, hi := i*updateBlock, min(len(w), (i+1)*updateBlock)
		r.device.simd.AdamW(w[lo:hi], m[lo:hi], v[lo:hi], g[lo:hi], &c)
	})
}
