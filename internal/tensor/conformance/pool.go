package conformance

import (
	"fmt"
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
)

// pool64 averages the rows of each sequence, weighted by a softmax of score.
func pool64(r *fixture, x, score []float64, d int) (y, a []float64) {
	y, a = zeros(len(r.shape.lengths)*d), zeros(len(score))
	for b := range r.shape.lengths {
		var total float64
		for i := r.offset[b]; i < r.offset[b+1]; i++ {
			a[i] = math.Exp(score[i])
			total += a[i]
		}
		for i := r.offset[b]; i < r.offset[b+1]; i++ {
			a[i] /= total
			for c := range d {
				y[b*d+c] += a[i] * x[i*d+c]
			}
		}
	}
	return y, a
}

func poolBackward64(r *fixture, dy, y, a, x []float64, d int) (dx, dscore []float64) {
	dx, dscore = zeros(len(x)), zeros(len(a))
	for b := range r.shape.lengths {
		for i := r.offset[b]; i < r.offset[b+1]; i++ {
			for c := range d {
				dx[i*d+c] = a[i] * dy[b*d+c]
				dscore[i] += a[i] * dy[b*d+c] * (x[i*d+c] - y[b*d+c])
			}
		}
	}
	return dx, dscore
}

func init() { register("pool", poolCases) }

func poolCases(add func(...Case)) {
	for _, s := range []struct {
		d     int
		scale float64 // size of the scores; at 100, float32 overflows unless the kernel subtracts the maximum
	}{{1, 1}, {3, 100}, {20, 1}, {33, 3}, {48, 1}} {
		at := shape{[]int{1, 2, 31, 32, 33, 100, 257, 300}, 1}
		name := fmt.Sprintf("%d channels, scores of size %g", s.d, s.scale)
		inputs := func(r *fixture) (x, score *operand) {
			x, score = r.in(tensor.Tokens, s.d), r.in(tensor.Tokens, 1)
			score.set(func(i int) float64 { return s.scale * score.x[i] })
			return x, score
		}
		add(Case{"pool " + name, at, func(r *fixture) tensor.Kernel {
			x, score := inputs(r)
			y, a := pool64(r, x.x, score.x, s.d)
			return tensor.Pool{Y: r.want(r.out(tensor.Sequences, s.d), y, 2e-6).Tensor,
				A: r.want(r.out(tensor.Tokens, 1), a, 1e-6).Tensor,
				X: x.Tensor, Score: score.Tensor, Batch: r.batch}
		}}, Case{"pool_backward " + name, at, func(r *fixture) tensor.Kernel {
			x, score := inputs(r)
			y, a := pool64(r, x.x, score.x, s.d)
			dy, saved, pooled := r.in(tensor.Sequences, s.d), r.in(tensor.Tokens, 1), r.in(tensor.Sequences, s.d)
			saved.set(func(i int) float64 { return a[i] })
			pooled.set(func(i int) float64 { return y[i] })
			dx, dscore := poolBackward64(r, dy.x, pooled.x, saved.x, x.x, s.d)
			r.derivative(func() float64 {
				y, _ := pool64(r, x.x, score.x, s.d)
				return product(dy.x, y)
			}, pair{x.x, dx}, pair{score.x, dscore})
			return tensor.PoolBackward{DX: r.want(r.out(tensor.Tokens, s.d), dx, 3e-7).Tensor,
				DScore: r.want(r.out(tensor.Tokens, 1), dscore, 3e-6).Tensor,
				DY:     dy.Tensor, Y: pooled.Tensor, A: saved.Tensor, X: x.Tensor, Batch: r.batch}
		}})
	}
}
