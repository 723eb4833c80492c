package conformance

import (
	"fmt"
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
)

// logSoftplus64 returns λ = log softplus. Where softplus(x) rounds to eˣ, λ is x.
func logSoftplus64(x float64) float64 {
	if x < -40 {
		return x
	}
	return math.Log(softplus64(x))
}

// rho64 returns λ′ = σ/softplus.
func rho64(x float64) float64 {
	if x < -40 {
		return 1
	}
	return sigmoid64(x) / softplus64(x)
}

// duplet64 mixes tokens; unused rows of y and p are zero.
func duplet64(r *fixture, s selection, x, score []float64, d int) (y, p []float64) {
	y, p = zeros(len(s.top)*d), zeros(len(s.top))
	for j, used := range s.inUse {
		if !used {
			continue
		}
		p[j] = 1
		t := r.offset[s.sequence[j]] + s.top[j]
		q := r.offset[s.sequence[j]] + s.partner[j]
		if s.partner[j] >= 0 {
			p[j] = 1 / (1 + math.Exp(logSoftplus64(score[q])-logSoftplus64(score[t])))
		}
		for c := range d {
			y[j*d+c] = p[j] * x[t*d+c]
			if s.partner[j] >= 0 {
				y[j*d+c] += (1 - p[j]) * x[q*d+c]
			}
		}
	}
	return y, p
}

// dupletBackward64 returns the gradients of x and score, given the gradient of y and, per head, of
// p. The parameter p is the output of the forward pass, rounded to float32 as for the device, because
// the rounding changes 1 − p noticeably where p is near 1.
func dupletBackward64(r *fixture, s selection, dy, dp, p, x, score []float64, d, heads int) (dx, dscore []float64) {
	dx, dscore = zeros(len(x)), zeros(len(score))
	for j, used := range s.inUse {
		if !used {
			continue
		}
		t := r.offset[s.sequence[j]] + s.top[j]
		for c := range d {
			dx[t*d+c] += p[j] * dy[j*d+c]
		}
		if s.partner[j] < 0 {
			continue
		}
		q := r.offset[s.sequence[j]] + s.partner[j]
		var sum float64
		for c := range d {
			dx[q*d+c] += (1 - p[j]) * dy[j*d+c]
			sum += dy[j*d+c] * (x[t*d+c] - x[q*d+c])
		}
		for n := range heads {
			sum += dp[j*heads+n]
		}
		dscore[t] += sum * p[j] * (1 - p[j]) * rho64(score[t])
		dscore[q] -= sum * p[j] * (1 - p[j]) * rho64(score[q])
	}
	return dx, dscore
}

func init() { register("duplet", dupletCases) }

func dupletCases(add func(...Case)) {
	lengths := []int{1, 2, 31, 33, 100, 257}
	for _, s := range []struct{ k, d, heads int }{{1, 1, 0}, {20, 3, 1}, {60, 20, 3}, {300, 5, 0}, {150, 33, 2}} {
		// Far below zero softplus underflows, but its logarithm and ρ must not.
		for _, scale := range []float64{1, 30, 300} {
			name := fmt.Sprintf("k %d, %d channels, %d heads, scores of size %g", s.k, s.d, s.heads, scale)
			add(Case{"duplet " + name, shape{lengths, s.k}, func(r *fixture) tensor.Kernel {
				sel, x, score := dupletInputs(r, s.d, scale)
				y, p := duplet64(r, sel, x.x, score.x, s.d)
				out := r.want(r.out(tensor.Sampled, 1), p, 1e-6)
				return tensor.Duplet{Y: r.want(r.out(tensor.Sampled, s.d), y, 1e-6).Tensor, P: out.Tensor,
					X: x.Tensor, Noised: score.Tensor, Top: r.list(tensor.Sampled, sel.top).Tensor,
					Partner: r.list(tensor.Sampled, sel.partner).Tensor,
					Count:   r.list(tensor.Sequences, sel.count).Tensor, Batch: r.batch}
			}}, Case{"duplet_backward " + name, shape{lengths, s.k}, func(r *fixture) tensor.Kernel {
				return dupletBackwardCase(r, s.d, s.heads, scale)
			}})
		}
	}
}

func dupletInputs(r *fixture, d int, scale float64) (selection, *operand, *operand) {
	sel, x, score := r.selection(), r.in(tensor.Tokens, d), r.in(tensor.Tokens, 1)
	score.set(func(i int) float64 { return scale * score.x[i] })
	return sel, x, score
}

func dupletBackwardCase(r *fixture, d, heads int, scale float64) tensor.Kernel {
	sel, x, score := dupletInputs(r, d, scale)
	dy, saved := r.sampledIn(sel, d), r.sampledIn(sel, 1)
	_, p := duplet64(r, sel, x.x, score.x, d)
	saved.set(func(j int) float64 {
		if !sel.inUse[j] {
			return math.NaN()
		}
		return p[j]
	})
	k := tensor.DupletBackward{DY: dy.Tensor, P: saved.Tensor, X: x.Tensor, Noised: score.Tensor,
		Top: r.list(tensor.Sampled, sel.top).Tensor, Partner: r.list(tensor.Sampled, sel.partner).Tensor,
		Count: r.list(tensor.Sequences, sel.count).Tensor, Batch: r.batch}
	var dp []float64
	if heads > 0 {
		o := r.sampledIn(sel, heads)
		dp, k.DP = o.x, o.Tensor
	}
	dx, dscore := dupletBackward64(r, sel, dy.x, dp, saved.x, x.x, score.x, d, heads)
	r.derivative(func() float64 {
		y, p := duplet64(r, sel, x.x, score.x, d)
		loss := product(dy.x, y)
		for j := range p {
			for n := range heads {
				loss += product(dp[j*heads+n:][:1], p[j:j+1])
			}
		}
		return loss
	}, pair{x.x, dx}, pair{score.x, dscore})
	k.DX = r.target(true, tensor.Tokens, d, dx, 1e-6).Tensor
	k.DScore = r.want(r.out(tensor.Tokens, 1), dscore, 1e-5).Tensor
	return k
}
