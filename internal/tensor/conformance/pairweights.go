package conformance

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register("pairweights", pairWeightsCases) }

func pairWeightsCases(add func(...Case)) {
	for _, s := range []struct{ rows, heads, features int }{{1, 1, 1}, {33, 3, 2}, {300, 16, 2}, {5000, 2, 1}} {
		name := fmt.Sprintf("%d keys, %d heads, %d features", s.rows, s.heads, s.features)
		width := 2*s.features + 2
		add(Case{"pairweights " + name, rows(s.rows), func(r *fixture) tensor.Kernel {
			mul, mulBias := r.fixed(s.heads, s.features), r.fixed(s.heads)
			sum, sumBias := r.fixed(s.heads, s.features), r.fixed(s.heads)
			var w []float64
			for h := range s.heads {
				w = append(append(append(append(w, mul.row(h)...), mulBias.x[h]), sum.row(h)...), sumBias.x[h])
			}
			return tensor.PairWeights{W: r.want(r.outFixed(s.heads, width), w, 0).Tensor,
				MulWeight: mul.Tensor, MulBias: mulBias.Tensor, AddWeight: sum.Tensor, AddBias: sumBias.Tensor}
		}}, Case{"pairweights_backward " + name, rows(s.rows), func(r *fixture) tensor.Kernel {
			d := r.in(tensor.Sampled, s.heads*(width+1))
			var dp []float64
			total := zeros(s.heads * width)
			for i, v := range d.x {
				if head, at := i/(width+1)%s.heads, i%(width+1); at == 0 {
					dp = append(dp, v)
				} else {
					total[head*width+at-1] += v
				}
			}
			part := func(from, n int) (out []float64) {
				for h := range s.heads {
					out = append(out, total[h*width+from:][:n]...)
				}
				return out
			}
			n := s.features
			return tensor.PairWeightsBackward{
				DMulWeight: r.want(r.outFixed(s.heads, n), part(0, n), 3e-6).Tensor,
				DMulBias:   r.want(r.outFixed(s.heads), part(n, 1), 3e-6).Tensor,
				DAddWeight: r.want(r.outFixed(s.heads, n), part(n+1, n), 3e-6).Tensor,
				DAddBias:   r.want(r.outFixed(s.heads), part(2*n+1, 1), 3e-6).Tensor,
				DP:         r.want(r.out(tensor.Sampled, s.heads), dp, 0).Tensor, D: d.Tensor}
		}})
	}
}
