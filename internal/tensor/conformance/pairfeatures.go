package conformance

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/tensor"
)

// pair64 returns [u, v, u∘v, u−v] for each pair of consecutive rows u, v of x.
func pair64(x []float64, d int) []float64 {
	var y []float64
	for at := 0; at < len(x); at += 2 * d {
		u, v := x[at:at+d], x[at+d:at+2*d]
		y = append(append(y, u...), v...)
		for c := range d {
			y = append(y, u[c]*v[c])
		}
		for c := range d {
			y = append(y, u[c]-v[c])
		}
	}
	return y
}

func pairBackward64(dy, x []float64, d int) []float64 {
	dx := zeros(len(x))
	for e := range len(x) / (2 * d) {
		g := dy[4*d*e:]
		for c := range d {
			u, v := 2*e*d+c, (2*e+1)*d+c
			dx[u] = g[c] + g[2*d+c]*x[v] + g[3*d+c]
			dx[v] = g[d+c] + g[2*d+c]*x[u] - g[3*d+c]
		}
	}
	return dx
}

func init() { register("pairfeatures", pairFeaturesCases) }

func pairFeaturesCases(add func(...Case)) {
	for _, s := range []struct{ examples, d int }{{1, 1}, {2, 3}, {3, 5}, {17, 20}, {5, 48}} {
		at := shape{lengths: make([]int, 2*s.examples), k: 1}
		for b := range at.lengths {
			at.lengths[b] = 1
		}
		name := fmt.Sprintf("%d pairs of %d", s.examples, s.d)
		add(Case{"pairfeatures " + name, at, func(r *fixture) tensor.Kernel {
			x := r.in(tensor.Sequences, s.d)
			return tensor.PairFeatures{Y: r.want(r.out(tensor.Examples, 4*s.d), pair64(x.x, s.d),
				1e-7).Tensor, X: x.Tensor}
		}}, Case{"pairfeatures_backward " + name, at, func(r *fixture) tensor.Kernel {
			x, dy := r.in(tensor.Sequences, s.d), r.in(tensor.Examples, 4*s.d)
			dx := pairBackward64(dy.x, x.x, s.d)
			r.derivative(func() float64 { return product(dy.x, pair64(x.x, s.d)) }, pair{x.x, dx})
			return tensor.PairFeaturesBackward{DX: r.want(r.out(tensor.Sequences, s.d), dx, 5e-7).Tensor,
				DY: dy.Tensor, X: x.Tensor}
		}})
	}
}
