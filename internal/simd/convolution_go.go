package simd

func convolutionGo(y, x, weight, bias []float32, step int) {
	d := len(bias)
	if d == 0 {
		return
	}
	for i := range len(y) / d {
		yi := y[i*d:][:d]
		copy(yi, bias)
		for t := range len(weight) / d {
			xi := x[i*d+t*step:][:d]
			for c, w := range weight[t*d:][:d] {
				yi[c] += float32(w * xi[c])
			}
		}
	}
}

func convolutionBackwardGo(dx, dweight, dy, x, weight []float32, d, step int) {
	if d == 0 {
		return
	}
	taps := len(weight) / d
	for i := range len(x) / d {
		xi, dxi := x[i*d:][:d], dx[i*d:][:d]
		for t := range taps {
			g, dw := dy[i*d+(taps-1-t)*step:][:d], dweight[t*d:][:d]
			for c, w := range weight[t*d:][:d] {
				dxi[c] += float32(w * g[c])
				dw[c] += float32(g[c] * xi[c])
			}
		}
	}
}
