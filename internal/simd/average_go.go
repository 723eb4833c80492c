package simd

// statesOf returns the number of state vectors in decay. They begin at multiples of d, and the last
// has at least n elements.
func statesOf(decay []float32, n, d int) int { return (len(decay) - n + d) / d }

// averageGo and averageBackwardGo are the kernels without assembly.

func averageGo(z, state, x, decay, gain []float32, n, d, first, step, rows int) {
	if n == 0 {
		return
	}
	for s := range statesOf(decay, n, d) {
		h, a, g := state[s*d:][:n], decay[s*d:][:n], gain[s*d:][:n]
		for i := range rows {
			at := first + i*step
			xi, zi := x[at:][:n], z[at:][:n]
			for c, v := range xi {
				h[c] = float32(a[c]*h[c]) + v
				zi[c] += float32(g[c] * h[c])
			}
		}
	}
}

func averageBackwardGo(dx, sums, state, dz, x, decay, gain []float32, n, d, first, step, rows int) {
	if n == 0 {
		return
	}
	states := statesOf(decay, n, d)
	for s := range states {
		a, g := decay[s*d:][:n], gain[s*d:][:n]
		r, w := state[s*d:][:n], state[(states+s)*d:][:n]
		sumR, sumW := sums[s*d:][:n], sums[(states+s)*d:][:n]
		for i := range rows {
			at := first + i*step
			xi, dxi, dzi := x[at:][:n], dx[at:][:n], dz[at:][:n]
			for c, v := range xi {
				w[c] = float32(a[c]*w[c]) + r[c]
				r[c] = float32(a[c]*r[c]) + dzi[c]
				dxi[c] += float32(g[c] * r[c])
				sumR[c] += float32(v * r[c])
				sumW[c] += float32(v * w[c])
			}
		}
	}
}
