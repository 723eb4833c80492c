package simd

// checkedAverage wraps a kernel of Average. It checks the lengths of the slices, because the assembly
// has no checks, and passes first and step in bytes.
func checkedAverage(f func(z, state, x, decay, gain []float32, n, d, states, first, step, rows int)) func(z, state, x,
	decay, gain []float32, n, d, first, step, rows int) {
	return func(z, state, x, decay, gain []float32, n, d, first, step, rows int) {
		if n == 0 || rows == 0 || len(decay) == 0 {
			return
		}
		states, last := statesOf(decay, n, d), first+(rows-1)*step
		_, _, _, _ = z[first:first+n], z[last:last+n], x[first:first+n], x[last:last+n]
		_, _ = state[(states-1)*d+n-1], gain[(states-1)*d+n-1]
		f(z, state, x, decay, gain, n, d, states, 4*first, 4*step, rows)
	}
}

// checkedAverageBackward wraps a kernel of AverageBackward in the same way.
func checkedAverageBackward(f func(dx, sums, state, dz, x, decay, gain []float32, n, d, states, first, step,
	rows int)) func(dx, sums, state, dz, x, decay, gain []float32, n, d, first, step, rows int) {
	return func(dx, sums, state, dz, x, decay, gain []float32, n, d, first, step, rows int) {
		if n == 0 || rows == 0 || len(decay) == 0 {
			return
		}
		states, last := statesOf(decay, n, d), first+(rows-1)*step
		_, _, _, _ = dx[first:first+n], dx[last:last+n], x[first:first+n], x[last:last+n]
		_, _, _, _ = dz[first:first+n], dz[last:last+n], state[(2*states-1)*d+n-1], sums[(2*states-1)*d+n-1]
		_ = gain[(states-1)*d+n-1]
		f(dx, sums, state, dz, x, decay, gain, n, d, states, 4*first, 4*step, rows)
	}
}
