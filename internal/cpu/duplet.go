package cpu

import (
	"github.com/sftseq/sftseq/internal/fmath"
	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register(whole(duplet), whole(dupletBackward)) }

func duplet(r *run, k tensor.Duplet) {
	s, d := r.sequences(k.Batch), k.X.Width()
	y, p, x, noised := r.floats(k.Y), r.floats(k.P), r.floats(k.X), r.floats(k.Noised)
	top, partner, count := r.ints(k.Top), r.ints(k.Partner), r.ints(k.Count)
	r.parallel(s.n, func(_ *worker, b int) {
		base, _ := s.tokens(b)
		lo, hi := s.sampled(b)
		for j := lo; j < hi; j++ {
			yj := y[j*d : (j+1)*d]
			if j >= lo+int(count[b]) {
				clear(yj)
				p[j] = 0
				continue
			}
			t := base + int(top[j])
			xt := x[t*d : (t+1)*d]
			if partner[j] < 0 {
				p[j] = 1
				copy(yj, xt)
				continue
			}
			q := base + int(partner[j])
			xq := x[q*d : (q+1)*d]
			w := fmath.Sigmoid(fmath.LogSoftplus(noised[t]) - fmath.LogSoftplus(noised[q]))
			p[j] = w
			r.device.simd.Mix(yj, xt, xq, w)
		}
	})
}

func dupletBackward(r *run, k tensor.DupletBackward) {
	s, d := r.sequences(k.Batch), k.X.Width()
	dx, dscore, dy := r.floats(k.DX), r.floats(k.DScore), r.floats(k.DY)
	p, x, noised := r.floats(k.P), r.floats(k.X), r.floats(k.Noised)
	top, partner, count := r.ints(k.Top), r.ints(k.Partner), r.ints(k.Count)
	var dp []float32
	var heads int
	if k.DP != nil {
		dp, heads = r.floats(k.DP), k.DP.Width()
	}
	r.parallel(s.n, func(_ *worker, b int) {
		base, end := s.tokens(b)
		clear(dscore[base:end])
		lo, _ := s.sampled(b)
		for j := lo; j < lo+int(count[b]); j++ {
			t := base + int(top[j])
			g := dy[j*d : (j+1)*d]
			dt := dx[t*d : (t+1)*d]
			if partner[j] < 0 {
				r.device.simd.Add(dt, dt, g)
				continue
			}
			q := base + int(partner[j])
			xt, xq, dq := x[t*d:(t+1)*d], x[q*d:(q+1)*d], dx[q*d:(q+1)*d]
			w := p[j]
			sum := r.device.simd.MixBackward(dt, dq, g, xt, xq, w)
			for n := range heads {
				sum += dp[j*heads+n]
			}
			sum *= w * (1 - w)
			dscore[t] = sum * fmath.Rho(noised[t])
			dscore[q] = -sum * fmath.Rho(noised[q])
		}
	})
}
