package conformance

import (
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
)

// average64 calls term for each state s and row i, in the direction of the state. previous is the row
// before i in this direction, or −1 for the first row of a sequence.
func average64(r *fixture, states int, term func(s, i, previous int)) {
	for s := range states {
		for b := range r.shape.lengths {
			lo, hi := r.offset[b], r.offset[b+1]
			for n := range hi - lo {
				i, previous := lo+n, lo+n-1
				if s >= states/2 {
					i, previous = hi-1-n, hi-n
				}
				if n == 0 {
					previous = -1
				}
				term(s, i, previous)
			}
		}
	}
}

// averages64 returns the states h of a moving average: [s, rows, d].
func averages64(r *fixture, x, decay []float64, d int) []float64 {
	rows := len(x) / d
	h := zeros(len(decay) / d * len(x))
	average64(r, len(decay)/d, func(s, i, previous int) {
		for c := range d {
			a := sigmoid64(decay[s*d+c])
			at := (s*rows+i)*d + c
			if h[at] = (1 - a) * x[i*d+c]; previous >= 0 {
				h[at] += a * h[(s*rows+previous)*d+c]
			}
		}
	})
	return h
}

func averageSum64(r *fixture, x, decay, gain, bias []float64) []float64 {
	d, z := len(bias), zeros(len(x))
	for i := range z {
		z[i] = bias[i%d]
	}
	for at, h := range averages64(r, x, decay, d) {
		s, i := at/len(x), at%len(x)
		z[i] += gain[s*d+i%d] * h
	}
	return z
}

// averageBackward64 propagates the gradients of the states against their direction.
func averageBackward64(r *fixture, dz, x, decay, gain []float64, d int) (dx, ddecay, dgain, dbias []float64) {
	dx, ddecay, dgain, dbias = zeros(len(x)), zeros(len(decay)), zeros(len(gain)), zeros(d)
	h, rows, states := averages64(r, x, decay, d), len(x)/d, len(decay)/d
	type step struct{ s, i, previous int }
	var steps []step
	average64(r, states, func(s, i, previous int) { steps = append(steps, step{s, i, previous}) })
	dh := zeros(len(h))
	for _, t := range slices.Backward(steps) {
		for c := range d {
			p, at := t.s*d+c, (t.s*rows+t.i)*d+c
			a, v := sigmoid64(decay[p]), x[t.i*d+c]
			dgain[p] += dz[t.i*d+c] * h[at]
			dh[at] += gain[p] * dz[t.i*d+c]
			dx[t.i*d+c] += (1 - a) * dh[at]
			da := -v
			if t.previous >= 0 {
				before := (t.s*rows+t.previous)*d + c
				dh[before] += a * dh[at]
				da += h[before]
			}
			ddecay[p] += a * (1 - a) * da * dh[at]
		}
	}
	for i, g := range dz {
		dbias[i%d] += g
	}
	return dx, ddecay, dgain, dbias
}

func init() { register("movingaverage", averageCases) }

func averageCases(add func(...Case)) {
	irregular := []int{1, 2, 31, 1, 33, 100, 7, 64}
	for _, s := range []struct {
		lengths   []int
		d, states int
	}{
		{[]int{1}, 1, 2}, {irregular, 3, 2}, {irregular, 33, 8}, {irregular, 48, 6}, {[]int{600}, 130, 8},
		{[]int{1000, 3}, 17, 10}, // several blocks of summed rows
	} {
		for _, mode := range []string{"", "_backward"} {
			name := fmt.Sprintf("movingaverage%s %d sequences of up to %d, %d channels, %d averages", mode,
				len(s.lengths), slices.Max(s.lengths), s.d, s.states)
			add(Case{name, shape{s.lengths, 1}, func(r *fixture) tensor.Kernel {
				x, bias := r.in(tensor.Tokens, s.d), r.fixed(s.d)
				decay, gain := r.fixed(s.states, s.d), r.fixed(s.states, s.d)
				if mode == "" {
					z := averageSum64(r, x.x, decay.x, gain.x, bias.x)
					return tensor.MovingAverage{Z: r.want(r.out(tensor.Tokens, s.d), z, 3e-6).Tensor, X: x.Tensor,
						Decay: decay.Tensor, Gain: gain.Tensor, Bias: bias.Tensor, Batch: r.batch}
				}
				dz := r.in(tensor.Tokens, s.d)
				dx, ddecay, dgain, dbias := averageBackward64(r, dz.x, x.x, decay.x, gain.x, s.d)
				r.derivative(func() float64 {
					return product(dz.x, averageSum64(r, x.x, decay.x, gain.x, bias.x))
				}, pair{x.x, dx}, pair{decay.x, ddecay}, pair{gain.x, dgain}, pair{bias.x, dbias})
				return tensor.MovingAverageBackward{DX: r.want(r.out(tensor.Tokens, s.d), dx, 5e-6).Tensor,
					DDecay: r.want(r.outFixed(s.states, s.d), ddecay, 5e-6).Tensor,
					DGain:  r.want(r.outFixed(s.states, s.d), dgain, 5e-6).Tensor,
					DBias:  r.want(r.outFixed(s.d), dbias, 5e-6).Tensor, DZ: dz.Tensor, X: x.Tensor,
					Decay: decay.Tensor, Gain: gain.Tensor, Batch: r.batch}
			}})
		}
	}
}
