package simd

import "math"

func layerNormGo(y, mean, rstd, x, gain, bias []float32, eps float32) {
	d := len(gain)
	bias = bias[:d]
	for i := range mean {
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
		r := 1 / float32(math.Sqrt(float64(q/float32(d)+eps)))
		mean[i], rstd[i] = m, r
		for c, v := range xi {
			yi[c] = float32(float32((v-m)*r)*gain[c]) + bias[c]
		}
	}
}

func layerNormBackwardGo(dx, dgain, dbias, dy, x, mean, rstd, gain []float32) {
	normBackward(dx, dgain, dbias, dy, x, mean, rstd, gain, false)
}

func layerNormBackwardAddGo(dx, dgain, dbias, dy, x, mean, rstd, gain []float32) {
	normBackward(dx, dgain, dbias, dy, x, mean, rstd, gain, true)
}

func normBackward(dx, dgain, dbias, dy, x, mean, rstd, gain []float32, accumulate bool) {
	d := len(gain)
	dgain, dbias = dgain[:d], dbias[:d]
	for i, m := range mean {
		xi, gi, out, r := x[i*d:(i+1)*d], dy[i*d:(i+1)*d], dx[i*d:(i+1)*d], rstd[i]
		var sum, dot float32
		for c, v := range gi {
			h := (xi[c] - m) * r
			dgain[c] += float32(v * h)
			dbias[c] += v
			g := float32(v * gain[c])
			sum += g
			dot += float32(g * h)
		}
		sum /= float32(d)
		dot /= float32(d)
		for c, v := range gi {
			h := (xi[c] - m) * r
			g := r * (float32(v*gain[c]) - sum - float32(h*dot))
			if accumulate {
				g += out[c]
			}
			out[c] = g
		}
	}
}

func rowDotGo(y, x, w []float32, bias float32) {
	d := len(w)
	for i := range y {
		var s float32
		for c, v := range x[i*d : (i+1)*d] {
			s += float32(v * w[c])
		}
		y[i] = s + bias
	}
}

func addOuterGo(y, a, w []float32) {
	d := len(w)
	for i, v := range a {
		yi := y[i*d : (i+1)*d]
		for c, u := range w {
			yi[c] += float32(v * u)
		}
	}
}

func weightedSumGo(y, a, x []float32) {
	d := len(y)
	clear(y)
	for i, v := range a {
		for c, u := range x[i*d : (i+1)*d] {
			y[c] += float32(v * u)
		}
	}
}

func addRowsGo(y, x []float32, at []int32, width, stride int) {
	for i, a := range at {
		to := y[int(a)*stride:][:width]
		for c, v := range x[i*stride:][:width] {
			to[c] += v
		}
	}
}

func poolBackwardGo(dx, dscore, a, x, dy, y []float32) {
	d := len(dy)
	y = y[:d]
	for i, v := range a {
		xi, out := x[i*d:(i+1)*d], dx[i*d:(i+1)*d]
		var sum float32
		for c, g := range dy {
			sum += float32(g * (xi[c] - y[c]))
			out[c] = v * g
		}
		dscore[i] = v * sum
	}
}
