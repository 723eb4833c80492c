package conformance

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/tensor"
)

func gather64(row []int, x []float64, n int) []float64 {
	y := zeros(len(row) * n)
	for i, from := range row {
		if from != tensor.NoRow {
			copy(y[i*n:(i+1)*n], x[from*n:(from+1)*n])
		}
	}
	return y
}

// inverse returns, for each t < n, the index i with row[i] = t, or NoRow.
func inverse(row []int, n int) []int {
	back := make([]int, n)
	for t := range back {
		back[t] = tensor.NoRow
	}
	for i, t := range row {
		back[t] = i
	}
	return back
}

func init() { register("gather", gatherCases) }

func gatherCases(add func(...Case)) {
	for _, s := range []struct {
		lengths []int
		share   float64 // fraction of rows to select; below 1, only in every second sequence
		n       int
	}{{[]int{1}, 1, 1}, {[]int{3, 5}, 1, 3}, {[]int{40, 7, 33}, 0.3, 5},
		{[]int{100, 1, 90, 1}, 0.15, 48}, {[]int{257}, 1, 33}} {
		for _, mode := range []string{"", " backward"} {
			name := fmt.Sprintf("gather%s of %d sequences, %g of their rows of %d", mode, len(s.lengths), s.share, s.n)
			add(Case{name, shape{lengths: s.lengths, k: 1}, func(r *fixture) tensor.Kernel {
				var row []int
				for t := range r.offset[len(s.lengths)] {
					for b := range s.lengths {
						inside := t >= r.offset[b] && t < r.offset[b+1]
						if inside && (s.share == 1 || b%2 == 0 && r.random.Float64() < s.share) {
							row = append(row, t)
						}
					}
				}
				r.targets(len(row))
				if mode == "" {
					x := r.in(tensor.Tokens, s.n)
					y := r.want(r.out(tensor.Targets, s.n), gather64(row, x.x, s.n), 0)
					return tensor.Gather{Y: y.Tensor, X: x.Tensor, Row: r.list(tensor.Targets, row).Tensor}
				}
				dy, x := r.in(tensor.Targets, s.n), r.random.Perm(r.used(tensor.Tokens)*s.n)
				forward := make([]float64, len(x))
				for i, v := range x {
					forward[i] = float64(v)
				}
				back := inverse(row, r.used(tensor.Tokens))
				grad := gather64(back, dy.x, s.n)
				r.derivative(func() float64 { return product(dy.x, gather64(row, forward, s.n)) }, pair{forward, grad})
				dx := r.want(r.out(tensor.Tokens, s.n), grad, 0)
				return tensor.Gather{Y: dx.Tensor, X: dy.Tensor, Row: r.list(tensor.Tokens, back).Tensor}
			}})
		}
	}
}
