package conformance

import (
	"fmt"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
)

func huber64(z, target []float64, n int, delta float64) (loss, dz []float64) {
	for e := range len(z) / n {
		sum := 0.0
		for c := e * n; c < (e+1)*n; c++ {
			d := z[c] - target[c]
			if a := math.Abs(d); a <= delta {
				sum += d * d / 2
				dz = append(dz, d)
			} else {
				sum += delta * (a - delta/2)
				dz = append(dz, math.Copysign(delta, d))
			}
		}
		loss = append(loss, sum)
	}
	return loss, dz
}

func init() { register("huber", huberCases) }

func huberCases(add func(...Case)) {
	for _, s := range []struct {
		rows, numbers      int
		size, scale, delta float64
	}{{1, 1, 1, 1, 1}, {3, 5, 10, 2.5, 1}, {33, 2, 0.3, 1 << 15, 0.25}, {20, 40, 3, 3e-5, math.MaxFloat32}} {
		// There are half as many examples as sequences, so that a kernel that confuses these axes fails.
		at := shape{lengths: slices.Repeat([]int{1}, 2*s.rows), k: 1}
		name := fmt.Sprintf("huber %d examples, %d numbers of size %g, scale %g, delta %g", s.rows, s.numbers,
			s.size, s.scale, s.delta)
		add(Case{name, at, func(r *fixture) tensor.Kernel {
			z, target, scale := r.in(tensor.Examples, s.numbers), r.in(tensor.Examples, s.numbers), r.fixed(s.numbers)
			z.set(func(i int) float64 { return s.size * z.x[i] })
			scale.set(func(c int) float64 { return s.scale * float64(1+c%3) / 2 })
			loss, dz := huber64(z.x, target.x, s.numbers, s.delta)
			for i := range dz {
				dz[i] *= scale.x[i%s.numbers]
			}
			r.derivative(func() float64 {
				sum := 0.0
				for i := range z.x {
					loss, _ := huber64(z.x[i:i+1], target.x[i:i+1], 1, s.delta)
					sum += scale.x[i%s.numbers] * loss[0]
				}
				return sum
			}, pair{z.x, dz})
			return tensor.Huber{Loss: r.want(r.out(tensor.Examples, 1), loss, 1e-6).Tensor,
				DLogits: r.want(r.out(tensor.Examples, s.numbers), dz, 1e-6).Tensor,
				Logits:  z.Tensor, Target: target.Tensor, Scale: scale.Tensor, Delta: float32(s.delta)}
		}})
	}
}
