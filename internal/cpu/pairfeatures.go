package cpu

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(whole(pairFeatures), whole(pairFeaturesBackward)) }

func pairFeatures(r *run, k tensor.PairFeatures) {
	d := k.X.Width()
	y, x := r.floats(k.Y), r.floats(k.X)
	for e := range r.rows(k.Y) {
		u, v, out := x[2*e*d:(2*e+1)*d], x[(2*e+1)*d:(2*e+2)*d], y[4*e*d:(4*e+4)*d]
		for c := range u {
			out[c], out[d+c], out[2*d+c], out[3*d+c] = u[c], v[c], u[c]*v[c], u[c]-v[c]
		}
	}
}

func pairFeaturesBackward(r *run, k tensor.PairFeaturesBackward) {
	d := k.X.Width()
	dx, dy, x := r.floats(k.DX), r.floats(k.DY), r.floats(k.X)
	for e := range r.rows(k.DY) {
		u, v, g := x[2*e*d:(2*e+1)*d], x[(2*e+1)*d:(2*e+2)*d], dy[4*e*d:(4*e+4)*d]
		du, dv := dx[2*e*d:(2*e+1)*d], dx[(2*e+1)*d:(2*e+2)*d]
		for c := range u {
			du[c] = g[c] + float32(g[2*d+c]*v[c]) + g[3*d+c]
			dv[c] = g[d+c] + float32(g[2*d+c]*u[c]) - g[3*d+c]
		}
	}
}
