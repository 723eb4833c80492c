package cpu

import (
	"math"

	"sftseq/internal/tensor"
)

// updateBlock is the number of parameters that a worker takes at a time.
const updateBlock = 1 << 14

func sumSquares(r *run, k tensor.SumSquares) {
	x := r.floats(k.X)
	parts := make([]float64, (len(x)+updateBlock-1)/updateBlock)
	r.each(len(parts), func(_ *worker, i int) {
		var s float64
		for _, v := range x[i*updateBlock : min(len(x), (i+1)*updateBlock)] {
			s += float64(float64(v) * float64(v))
		}
		parts[i] = s
	})
	var total float64
	for _, s := range parts {
		total += s
	}
	r.floats(k.Y)[0] = float32(total)
}

func adamW(r *run, k tensor.AdamW) {
	w, m, v, g := r.floats(k.W), r.floats(k.M), r.floats(k.V), r.floats(k.G)
	s := r.floats(k.Step)
	step := tensor.AdamWStep{GradientScale: s[0], MaxNorm: s[1], LearningRate: s[2], Correction1: s[3], Correction2: s[4]}
	scale := step.GradientScale
	if step.MaxNorm > 0 {
		norm := float32(math.Sqrt(float64(r.floats(k.SumSquares)[0]))) * scale
		scale *= min(1, step.MaxNorm/(norm+1e-6))
	}
	beta1, beta2 := float32(k.Beta1), float32(k.Beta2)
	rest1, rest2 := float32(1-k.Beta1), float32(1-k.Beta2)
	keep := 1 - float32(step.LearningRate*k.Decay)
	r.each((len(w)+updateBlock-1)/updateBlock, func(_ *worker, piece int) {
		for i := piece * updateBlock; i < min(len(w), (piece+1)*updateBlock); i++ {
			gi := g[i] * scale
			m[i] = float32(beta1*m[i]) + float32(rest1*gi)
			v[i] = float32(beta2*v[i]) + float32(rest2*float32(gi*gi))
			root := float32(math.Sqrt(float64(v[i] * step.Correction2)))
			w[i] = float32(w[i]*keep) - float32(step.LearningRate*float32(m[i]*step.Correction1))/(root+k.Eps)
		}
	})
}
