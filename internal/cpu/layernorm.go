package cpu

import (
	"math"

	"sftseq/internal/tensor"
)

func layerNorm(r *run, k tensor.LayerNorm) {
	d := k.X.Width()
	y, x, mean, rstd := r.floats(k.Y), r.floats(k.X), r.floats(k.Mean), r.floats(k.RStd)
	gain, bias := r.floats(k.Gain), r.floats(k.Bias)
	r.eachRows(r.rows(k.X), func(_ *worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			xi, yi := x[i*d:(i+1)*d], y[i*d:(i+1)*d]
			var s float32
			for _, v := range xi {
				s += v
			}
			m := s / float32(d)
			var q float32
			for _, v := range xi {
				q += float32((v - m) * (v - m))
			}
			rs := 1 / float32(math.Sqrt(float64(q/float32(d)+k.Eps)))
			mean[i], rstd[i] = m, rs
			for c, v := range xi {
				yi[c] = float32(float32((v-m)*rs)*gain[c]) + bias[c]
			}
		}
	})
}

func layerNormBackward(r *run, k tensor.LayerNormBackward) {
	d, rows := k.X.Width(), r.rows(k.X)
	dx, dy, x := r.floats(k.DX), r.floats(k.DY), r.floats(k.X)
	mean, rstd, gain := r.floats(k.Mean), r.floats(k.RStd), r.floats(k.Gain)
	dgain, dbias := r.floats(k.DGain), r.floats(k.DBias)
	// The parameters first: DX may be the same memory as DY.
	r.eachColumns(d, func(lo, hi int) {
		clear(dgain[lo:hi])
		var part [columnBlock]float32
		for at := 0; at < rows; at += sumRows {
			p := part[:hi-lo]
			clear(p)
			for i := at; i < min(rows, at+sumRows); i++ {
				xi, m, rs := x[i*d+lo:i*d+hi], mean[i], rstd[i]
				for c, g := range dy[i*d+lo : i*d+hi] {
					p[c] += float32(g * float32((xi[c]-m)*rs))
				}
			}
			for c, v := range p {
				dgain[lo+c] += v
			}
		}
		sumColumns(dbias, dy, lo, hi, rows, d)
	})
	r.eachRows(rows, func(_ *worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			xi, gi, out := x[i*d:(i+1)*d], dy[i*d:(i+1)*d], dx[i*d:(i+1)*d]
			m, rs := mean[i], rstd[i]
			var sg, sgx float32
			for c, v := range gi {
				g := float32(v * gain[c])
				sg += g
				sgx += float32(g * float32((xi[c]-m)*rs))
			}
			sg /= float32(d)
			sgx /= float32(d)
			for c, v := range gi {
				g := float32(v*gain[c]) - sg - float32(float32((xi[c]-m)*rs)*sgx)
				if k.Accumulate {
					out[c] += float32(rs * g)
				} else {
					out[c] = rs * g
				}
			}
		}
	})
}
