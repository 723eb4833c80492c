package conformance

import (
	"fmt"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
)

func binaryCrossEntropy64(z, target, positive []float64) (loss, dz []float64) {
	n := len(positive)
	for e := range len(z) / n {
		sum := 0.0
		for c := range n {
			v := z[e*n+c]
			p := 1 / (1 + math.Exp(-v))
			if target[e*n+c] == 1 {
				sum += positive[c] * (math.Max(-v, 0) + math.Log1p(math.Exp(-math.Abs(v))))
				dz = append(dz, positive[c]*(p-1))
			} else {
				sum += math.Max(v, 0) + math.Log1p(math.Exp(-math.Abs(v)))
				dz = append(dz, p)
			}
		}
		loss = append(loss, sum)
	}
	return loss, dz
}

func init() { register("binarycrossentropy", binaryCrossEntropyCases) }

func binaryCrossEntropyCases(add func(...Case)) {
	for _, s := range []struct {
		rows, labels          int
		size, scale, positive float64
	}{{1, 1, 1, 1, 1}, {3, 5, 40, 2.5, 1}, {33, 2, 0.3, 1 << 15, 7}, {20, 40, 3, 3e-5, 0.25}} {
		// There are half as many examples as sequences, so that a kernel which confuses the two axes fails.
		at := shape{lengths: slices.Repeat([]int{1}, 2*s.rows), k: 1}
		name := fmt.Sprintf("binarycrossentropy %d examples, %d labels, logits of size %g, scale %g, positive weight %g", s.rows, s.labels, s.size, s.scale, s.positive)
		add(Case{name, at, func(r *fixture) tensor.Kernel {
			z, target, positive, scale := r.in(tensor.Examples, s.labels), r.in(tensor.Examples, s.labels),
				r.fixed(s.labels), r.fixed(s.labels)
			z.set(func(i int) float64 { return s.size * z.x[i] })
			target.set(func(i int) float64 {
				if target.x[i] > 0.3 {
					return 1
				}
				return 0
			})
			positive.set(func(c int) float64 { return s.positive * float64(1+c%2) })
			scale.set(func(c int) float64 { return s.scale * float64(1+c%3) / 2 })
			loss, dz := binaryCrossEntropy64(z.x, target.x, positive.x)
			for i := range dz {
				dz[i] *= scale.x[i%s.labels]
			}
			r.derivative(func() float64 {
				sum := 0.0
				for i := range z.x {
					c := i % s.labels
					loss, _ := binaryCrossEntropy64(z.x[i:i+1], target.x[i:i+1], positive.x[c:c+1])
					sum += scale.x[c] * loss[0]
				}
				return sum
			}, pair{z.x, dz})
			return tensor.BinaryCrossEntropy{Loss: r.want(r.out(tensor.Examples, 1), loss, 1e-6).Tensor,
				DLogits: r.want(r.out(tensor.Examples, s.labels), dz, 1e-6).Tensor,
				Logits:  z.Tensor, Target: target.Tensor, Positive: positive.Tensor, Scale: scale.Tensor}
		}})
	}
}
