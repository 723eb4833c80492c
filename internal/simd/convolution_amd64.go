package simd

// checkedConvolution wraps a kernel of Convolution. It checks the lengths of the slices, because the
// assembly has no checks, and passes the step in bytes.
func checkedConvolution(f func(y, x, weight, bias []float32, rows, taps, step int)) func(y, x, weight,
	bias []float32, step int) {
	return func(y, x, weight, bias []float32, step int) {
		d := len(bias)
		if d == 0 || len(y) < d {
			return
		}
		rows, taps := len(y)/d, len(weight)/d
		_, _ = weight[taps*d-1], x[(rows-1)*d+(taps-1)*step+d-1]
		f(y, x, weight, bias, rows, taps, 4*step)
	}
}

// checkedConvolutionBackward wraps a kernel of ConvolutionBackward in the same way.
func checkedConvolutionBackward(f func(dx, dweight, dy, x, weight []float32, d, rows, taps, step int)) func(dx, dweight,
	dy, x, weight []float32, d, step int) {
	return func(dx, dweight, dy, x, weight []float32, d, step int) {
		if d == 0 || len(x) < d {
			return
		}
		rows, taps := len(x)/d, len(weight)/d
		_, _, _, _ = dx[rows*d-1], dweight[taps*d-1], weight[taps*d-1], dy[(rows-1)*d+(taps-1)*step+d-1]
		f(dx, dweight, dy, x, weight, d, rows, taps, 4*step)
	}
}
