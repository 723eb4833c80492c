package cpu

import (
	"sftseq/internal/fmath"
	"sftseq/internal/tensor"
)

// attentionBackward gives each head to one worker, which goes through the
// sequences and their tiles of queries in order: every sum over queries has one
// order without a reduction.
func attentionBackward(r *run, k tensor.AttentionBackward) {
	a := newAttentionRun(r, k.Forward, k.Gradient)
	g := &attentionGradient{attentionRun: a, dq: r.floats(k.DQ), dk: r.floats(k.DK), dv: r.floats(k.DV), do: r.floats(k.DO)}
	sampledRows := r.rows(k.DK) * a.d
	clear(g.dk[:sampledRows])
	clear(g.dv[:sampledRows])
	if k.DLeak != nil {
		g.dleak = r.floats(k.DLeak)
	}
	if k.Gradient != nil {
		for _, t := range []*tensor.Tensor{k.Gradient.(tensor.SinusoidGradient).DF, k.Gradient.(tensor.SinusoidGradient).DG, k.Gradient.(tensor.SinusoidGradient).DP} {
			clear(r.floats(t))
		}
	}
	r.each(a.Heads, func(w *worker, head int) {
		for b := range a.n {
			lo, hi := a.tokens(b)
			var dleak float32
			for row := lo; row < hi; row += queryTile {
				dleak += g.tile(w, b, head, row, min(queryTile, hi-row), row-lo)
			}
			if g.dleak != nil {
				g.dleak[b*a.Heads+head] = dleak
			}
		}
	})
}

type attentionGradient struct {
	*attentionRun
	dq, dk, dv, do, dleak []float32
}

// tile goes back through n queries and returns their gradient of the leak.
func (g *attentionGradient) tile(w *worker, b, head, row, n, position int) (dleak float32) {
	x := w.floats(n*8 + n*g.dh*2 + 2*g.dh)
	next := func(size int) []float32 {
		y := x[:size:size]
		x = x[size:]
		return y
	}
	s, m, mul, add := next(n), next(n), next(n), next(n)
	p, inverse, da, delta := next(n), next(n), next(n), next(n)
	dq, part := next(n*g.dh), next(n*g.dh)
	dkey, dvalue := next(g.dh), next(g.dh)

	softmax := g.Probability == tensor.Softmax
	for r := range n { // delta = D/Norm for ReLU weights, D for softmax
		inverse[r] = 1 / g.norm[(row+r)*g.Heads+head]
		delta[r] = dot(g.head(g.o, row+r, head), g.head(g.do, row+r, head))
		if !softmax {
			delta[r] *= inverse[r]
			dleak -= delta[r]
		}
	}
	clear(dq)
	lo, _ := g.sampled(b)
	end := lo + int(g.count[b])
	for at := lo; at < end; at += keyTile {
		clear(part)
		for key := at; key < min(end, at+keyTile); key++ {
			g.scores(head, row, position, key, s, m, mul, add)
			g.probabilities(softmax, head, row, s, p, inverse)
			value := g.head(g.v, key, head)
			clear(dvalue)
			for r, pr := range p {
				da[r] = 0
				if pr == 0 {
					continue
				}
				do := g.head(g.do, row+r, head)
				var dp float32
				for c, v := range do {
					dp += float32(v * value[c])
					dvalue[c] += float32(pr * v)
				}
				if softmax {
					da[r] = pr * (dp - delta[r])
				} else {
					da[r] = float32(dp*inverse[r]) - delta[r]
				}
			}
			addTo(g.head(g.dv, key, head), dvalue)

			for r, v := range da { // dm into s, dRmul into m; dRadd is dA itself
				s[r] = float32(v*mul[r]) * g.scale
				m[r] = float32(v*m[r]) * g.scale
			}
			g.relation.backward(head, key, position, m, da)
			clear(dkey)
			scoreTileBackward(g.Score, s, g.q[row*g.d+head*g.dh:], g.d, g.head(g.k, key, head), part, dkey)
			addTo(g.head(g.dk, key, head), dkey)
		}
		addTo(dq, part)
	}
	for r := range n {
		copy(g.head(g.dq, row+r, head), dq[r*g.dh:(r+1)*g.dh])
	}
	return dleak
}

// probabilities turns the scores of one key into its weights.
func (g *attentionGradient) probabilities(softmax bool, head, row int, s, p, inverse []float32) {
	for r, v := range s {
		switch {
		case softmax:
			p[r] = fmath.Exp(v - g.norm[(row+r)*g.Heads+head])
		case v > 0:
			p[r] = v * inverse[r]
		default:
			p[r] = 0
		}
	}
}

func addTo(y, x []float32) {
	for i, v := range x {
		y[i] += v
	}
}
