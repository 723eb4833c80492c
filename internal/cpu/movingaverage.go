package cpu

import (
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register(whole(movingAverage), whole(movingAverageBackward)) }

// averageBlock is the number of channels that a worker averages in one piece: a cache line.
const averageBlock = 16

// averageFactors returns a, 1 − a and gain·(1 − a) for all states and channels. The states of the
// kernels are h/(1 − a), so they are multiplied by gain·(1 − a).
func averageFactors(decay, gain []float32) (a, rest, scaled []float32) {
	a, rest, scaled = make([]float32, len(decay)), make([]float32, len(decay)), make([]float32, len(decay))
	for i, v := range decay {
		a[i] = float32(1 / (1 + math.Exp(-float64(v))))
		rest[i] = float32(1 / (1 + math.Exp(float64(v))))
		scaled[i] = gain[i] * rest[i]
	}
	return a, rest, scaled
}

// eachAverage calls f for each block of channels c … c+n−1 of each nonempty sequence b, which has the
// rows lo … hi−1. The slice states has the given number of vectors of d numbers, which are 0 in these
// channels.
func (r *run) eachAverage(s sequences, d, vectors int, f func(states []float32, b, c, n, lo, hi int)) {
	blocks := (d + averageBlock - 1) / averageBlock
	r.parallel(s.n*blocks, func(w *worker, i int) {
		b, c := i/blocks, i%blocks*averageBlock
		n := min(averageBlock, d-c)
		if lo, hi := s.tokens(b); lo < hi {
			states := w.floats(vectors * d)
			for v := range vectors {
				clear(states[v*d+c:][:n])
			}
			f(states, b, c, n, lo, hi)
		}
	})
}

func movingAverage(r *run, k tensor.MovingAverage) {
	s, d := r.sequences(k.Batch), k.X.Width()
	z, x, bias := r.floats(k.Z), r.floats(k.X), r.floats(k.Bias)
	a, _, gain := averageFactors(r.floats(k.Decay), r.floats(k.Gain))
	all, half := len(a), len(a)/2
	r.eachAverage(s, d, all/d, func(h []float32, _, c, n, lo, hi int) {
		for t := lo; t < hi; t++ {
			copy(z[t*d+c:][:n], bias[c:])
		}
		r.device.simd.Average(z, h[c:half], x, a[c:half], gain[c:half], n, d, lo*d+c, d, hi-lo)
		r.device.simd.Average(z, h[half+c:], x, a[half+c:], gain[half+c:], n, d, (hi-1)*d+c, -d, hi-lo)
	})
}

func movingAverageBackward(r *run, k tensor.MovingAverageBackward) {
	s, d := r.sequences(k.Batch), k.X.Width()
	dx, dz, x := r.floats(k.DX), r.floats(k.DZ), r.floats(k.X)
	gain := r.floats(k.Gain)
	a, rest, scaled := averageFactors(r.floats(k.Decay), gain)
	all, half := len(a), len(a)/2
	sums := r.parts(2 * s.n * all)
	clear(sums)
	r.eachAverage(s, d, 2*all/d, func(pairs []float32, b, c, n, lo, hi int) {
		for t := lo; t < hi; t++ {
			clear(dx[t*d+c:][:n])
		}
		// Each call adds the sums over at most sumRows rows to total. The first half of pairs and of total
		// belongs to the forward averages, the second half to the backward averages. Each half has values for
		// the states r of AverageBackward, then for w.
		total := sums[2*b*all:][:2*all]
		for from := 0; from < hi-lo; from += sumRows {
			rows := min(sumRows, hi-lo-from)
			r.device.simd.AverageBackward(dx, total[c:all], pairs[c:all], dz, x, a[c:half], scaled[c:half], n, d,
				(hi-1-from)*d+c, -d, rows)
			r.device.simd.AverageBackward(dx, total[all+c:], pairs[all+c:], dz, x, a[half+c:], scaled[half+c:], n, d,
				(lo+from)*d+c, d, rows)
		}
	})
	total := r.parts(2 * all)
	r.sumParts(sums, total)
	ddecay, dgain := r.floats(k.DDecay), r.floats(k.DGain)
	for i, a := range a {
		at := i
		if i >= half {
			at += half // skips the sums of w of the forward averages
		}
		byGain, byDecay := total[at], total[at+half]
		dgain[i] = rest[i] * byGain
		ddecay[i] = a * rest[i] * gain[i] * (rest[i]*byDecay - byGain)
	}
	r.sumRowsInto(r.floats(k.DBias), dz, r.rows(k.DZ))
}

// sumRowsInto sets sum to the sum of the first n rows of x.
func (r *run) sumRowsInto(sum, x []float32, n int) {
	d := len(sum)
	parts, ones := r.parts(blocks(n)*d), r.parts(rowBlock)
	for i := range ones {
		ones[i] = 1
	}
	r.eachRows(n, func(_ *worker, lo, hi int) {
		r.device.simd.WeightedSum(parts[lo/rowBlock*d:][:d], ones[:hi-lo], x[lo*d:hi*d])
	})
	r.sumParts(parts, sum)
}
