package conformance

import (
	"fmt"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
)

// adamW64 computes one update with decoupled weight decay and clipping by norm.
func adamW64(k tensor.AdamW, s tensor.AdamWStep, squares float64, w, m, v, g []float64) (w2, m2, v2 []float64) {
	scale := float64(s.GradientScale)
	if s.MaxNorm > 0 {
		scale *= min(1, float64(s.MaxNorm)/(math.Sqrt(squares)*scale+1e-6))
	}
	beta1, beta2, rate := k.Beta1, k.Beta2, float64(s.LearningRate)
	for i := range w {
		gi := g[i] * scale
		mi, vi := beta1*m[i]+(1-beta1)*gi, beta2*v[i]+(1-beta2)*gi*gi
		wi := w[i] * (1 - rate*float64(k.Decay))
		wi -= rate * mi * float64(s.Correction1) / (math.Sqrt(vi*float64(s.Correction2)) + float64(k.Eps))
		w2, m2, v2 = append(w2, wi), append(m2, mi), append(v2, vi)
	}
	return w2, m2, v2
}

func init() { register("adamw", adamWCases) }

func adamWCases(add func(...Case)) {
	for _, n := range []int{1, 5, 300, 20000, 40001} { // includes more parameters than a worker's block
		add(Case{fmt.Sprintf("sumsquares of %d", n), rows(1), func(r *fixture) tensor.Kernel {
			x := r.fixed(n)
			return tensor.SumSquares{Y: r.want(r.outFixed(1), []float64{product(x.x, x.x)}, 2e-7).Tensor, X: x.Tensor}
		}})
		for _, s := range []struct{ decay, maxNorm, eps float32 }{{0, 0, 1e-8}, {0.01, 1e6, 1e-8},
			{0.1, 0.5, 1e-8}, {0, 0.01, 0.5}} {
			name := fmt.Sprintf("adamw of %d, decay %g, max norm %g, eps %g", n, s.decay, s.maxNorm, s.eps)
			add(Case{name, rows(1), func(r *fixture) tensor.Kernel {
				w, m, v, g := r.inOutFixed(n), r.inOutFixed(n), r.inOutFixed(n), r.fixed(n)
				v.set(func(i int) float64 { return v.x[i] * v.x[i] })
				squares, step := r.fixed(1), r.fixed(tensor.AdamWStepWords)
				squares.set(func(int) float64 { return product(g.x, g.x) })
				numbers := tensor.AdamWStep{GradientScale: 0.25, MaxNorm: s.maxNorm, LearningRate: 0.3,
					Correction1: 2.5, Correction2: 7}
				step.set(func(i int) float64 { return float64(numbers.Words()[i]) })
				k := tensor.AdamW{W: w.Tensor, M: m.Tensor, V: v.Tensor, G: g.Tensor,
					SumSquares: squares.Tensor, Step: step.Tensor,
					Decay: s.decay, Beta1: 0.9, Beta2: 0.999, Eps: s.eps}
				w2, m2, v2 := adamW64(k, numbers, squares.x[0], w.x, m.x, v.x, g.x)
				r.want(w, w2, 5e-7)
				r.want(m, m2, 3e-7)
				r.want(v, v2, 3e-7)
				return k
			}})
		}
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		for _, maxNorm := range []float32{0, 1} {
			name := fmt.Sprintf("adamw skips a sum of squares of %g, max norm %g", bad, maxNorm)
			add(Case{name, rows(1), func(r *fixture) tensor.Kernel {
				n := 2000
				w, m, v, g := r.inOutFixed(n), r.inOutFixed(n), r.inOutFixed(n), r.fixed(n)
				g.x[n/2] = bad
				squares, step := r.fixed(1), r.fixed(tensor.AdamWStepWords)
				squares.x[0] = bad
				numbers := tensor.AdamWStep{GradientScale: 0.25, MaxNorm: maxNorm, LearningRate: 0.3,
					Correction1: 2.5, Correction2: 7}
				step.set(func(i int) float64 { return float64(numbers.Words()[i]) })
				for _, o := range []*operand{w, m, v} {
					r.want(o, slices.Clone(o.x), 0)
				}
				return tensor.AdamW{W: w.Tensor, M: m.Tensor, V: v.Tensor, G: g.Tensor,
					SumSquares: squares.Tensor, Step: step.Tensor,
					Decay: 0.1, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}
			}})
		}
	}
}
