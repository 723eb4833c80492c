package cpu

import (
	"math"

	"sftseq/internal/simd"
	"sftseq/internal/tensor"
)

// attentionBackward gives each head to one worker, which goes through the
// sequences and their tiles of queries in order: every sum over queries has one
// order without a reduction.
func attentionBackward(r *run, k tensor.AttentionBackward) {
	a := newAttentionRun(r, k.Forward, k.Gradient)
	g := &attentionGradient{attentionRun: a, dq: r.floats(k.DQ), dk: r.floats(k.DK), dv: r.floats(k.DV), do: r.floats(k.DO)}
	g.channels = roundUp(a.dh, r.device.simd.Width)
	g.columns = roundUp(a.dh, r.device.simd.Panel())
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
			g.sequence(w, b, head)
		}
	})
}

type attentionGradient struct {
	*attentionRun
	dq, dk, dv, do, dleak []float32
	channels              int // dh in whole vectors, for the scores
	columns               int // dh in whole panels, for the products
}

// roundUp returns the multiple of step at or above n.
func roundUp(n, step int) int { return (n + step - 1) / step * step }

// backwardScratch is a worker's memory for one sequence and head.
type backwardScratch struct {
	k, v, dk, dv []float32 // [keys, channels | dh | channels | columns]

	s, d           []float32 // [keyTile, stride]
	qt, dot        []float32 // [dh, stride] queries and dO/Z, transposed
	q, do          []float32 // [stride, channels | columns] the same as rows
	dq, part       []float32 // [stride, channels]
	inverse, delta []float32 // [stride] 1/Z, −D/Z
	total          []float32 // [keyTile]
	dkPart         []float32 // [keyTile, channels]
	pack           []float32 // queries or keys as a right factor
	unused         []float32 // [stride]
	ones           []float32 // [channels]
}

func (g *attentionGradient) newScratch(w *worker, keys int) backwardScratch {
	const stride = queryTile + 16
	c, p := g.channels, g.columns
	pack := g.run.device.simd.PackedSize(max(stride, keyTile), g.dh)
	x := w.floats(keys*(2*c+g.dh+p) + 2*keyTile*stride + 2*g.dh*stride + stride*(3*c+p) + 3*stride + keyTile*(1+c) + pack + c)
	next := func(size int) []float32 {
		y := x[:size:size]
		x = x[size:]
		return y
	}
	b := backwardScratch{k: next(keys * c), v: next(keys * g.dh), dk: next(keys * c), dv: next(keys * p),
		s: next(keyTile * stride), d: next(keyTile * stride), qt: next(g.dh * stride), dot: next(g.dh * stride),
		q: next(stride * c), do: next(stride * p), dq: next(stride * c), part: next(stride * c),
		inverse: next(stride), delta: next(stride), total: next(keyTile), dkPart: next(keyTile * c), pack: next(pack), unused: next(stride), ones: next(c)}
	for i := range b.ones {
		b.ones[i] = 1
	}
	return b
}

// sequence goes back through one sequence and head.
func (g *attentionGradient) sequence(w *worker, b, head int) {
	lo, end := g.keys(b)
	keys := end - lo
	x := g.newScratch(w, keys)
	g.copyHead(x.k, g.k, lo, keys, head, g.channels)
	g.copyHead(x.v, g.v, lo, keys, head, g.dh)
	clear(x.dk)
	clear(x.dv)
	first, last := g.tokens(b)
	var dleak float32
	for i := range g.tiles(last - first) {
		dleak += g.tile(&x, g.attentionRun.tile(w, b, head, i), lo, keys)
	}
	if g.dleak != nil {
		g.dleak[b*g.Heads+head] = dleak
	}
	for j := range keys {
		copy(g.head(g.dk, lo+j, head)[:g.dh], x.dk[j*g.channels:])
		copy(g.head(g.dv, lo+j, head)[:g.dh], x.dv[j*g.columns:])
	}
}

// load fills the scratch with what the tile's queries bring, and returns their
// gradient of the leak. With delta = Σ dO·O, softmax wants dP − delta, ReLU weights
// (dP − delta)/Z.
func (g *attentionGradient) load(x *backwardScratch, t queries, softmax bool) (dleak float32) {
	g.loadQueries(t, x.qt)
	clear(x.dq)
	for r := range t.n {
		row := t.row + r
		q := x.q[r*g.channels:][:g.channels]
		clear(q[copy(q, g.head(g.q, row, t.head)[:g.dh]):])
		do := x.do[r*g.columns:][:g.columns]
		if r < t.skip { // of the tile before: counts for nothing
			clear(do)
			x.inverse[r], x.delta[r] = 0, 0
			continue
		}
		from := g.head(g.do, row, t.head)[:g.dh]
		delta := -dot(g.head(g.o, row, t.head)[:g.dh], from)
		x.inverse[r] = g.norm[row*g.Heads+t.head]
		if softmax {
			clear(do[copy(do, from):])
		} else {
			z := 1 / x.inverse[r]
			for c, v := range from {
				do[c] = v * z
			}
			clear(do[g.dh:])
			delta *= z
			dleak += delta
		}
		x.delta[r] = delta
	}
	t.kernels.Transpose(x.dot, t.stride, x.do, g.columns, t.n, g.dh)
	return dleak
}

// tile goes back through a tile of queries and returns their gradient of the leak.
func (g *attentionGradient) tile(x *backwardScratch, t queries, lo, keys int) (dleak float32) {
	softmax := g.Probability == tensor.Softmax
	dleak = g.load(x, t, softmax)
	for block := 0; block < keys; block += sumKeys {
		clear(x.part)
		for at := block; at < min(keys, block+sumKeys); at += keyTile {
			n := min(keyTile, keys-at)
			g.lookAhead(t, lo+at, g.dq, g.q, g.o, g.do)
			g.scores(t, x.s, x.qt, x.k[at*g.channels:], g.channels, n)
			g.weightGradients(x, t, at, n)
			if softmax {
				g.softmaxWeights(x, t, lo+at, n)
				g.valueGradients(x, t, x.s, at, n)
				for i, p := range x.s[:n*t.stride] {
					x.d[i] *= p
				}
				g.scores(t, x.s, x.qt, x.k[at*g.channels:], g.channels, n)
				g.relation.backward(t, lo+at, n, x.s, x.d, false, x.total)
			} else {
				g.relation.backward(t, lo+at, n, x.s, x.d, true, x.total)
				g.valueGradients(x, t, x.d, at, n)
			}
			g.scoreGradients(x, t, at, n)
		}
		g.run.addTo(x.dq, x.part)
	}
	for r := t.skip; r < t.n; r++ {
		copy(g.head(g.dq, t.row+r, t.head)[:g.dh], x.dq[r*g.channels:])
	}
	return dleak
}

// weightGradients computes d[j][r] = dO_r·v_j + delta_r for n keys from at on.
func (g *attentionGradient) weightGradients(x *backwardScratch, t queries, at, n int) {
	p := &g.run.device.simd.Products
	p.Mul(simd.Rows(x.d, t.stride), simd.Rows(x.v[at*g.dh:], g.dh), p.View(x.dot, t.stride, g.dh, t.n), simd.Rows(x.delta, 0), n)
}

// valueGradients adds Σ_r weight[j][r]·dO_r to dv.
func (g *attentionGradient) valueGradients(x *backwardScratch, t queries, weight []float32, at, n int) {
	p := &g.run.device.simd.Products
	dv := simd.Rows(x.dv[at*g.columns:], g.columns)
	p.Mul(dv, simd.Rows(weight, t.stride), p.View(x.do, g.columns, t.n, g.columns), dv, n)
}

// softmaxWeights turns bare scores into the weights P.
func (g *attentionGradient) softmaxWeights(x *backwardScratch, t queries, at, n int) {
	g.relation.forward(t, at, n, x.s, float32(math.Inf(-1)), x.unused)
	for j := range n {
		row := x.s[j*t.stride:][:t.n]
		for r := range row {
			row[r] -= g.norm[(t.row+r)*g.Heads+t.head]
		}
		t.kernels.Exp(row, row)
	}
}

// scoreGradients goes back through the scores of n keys from at on, whose
// gradients are in s and summed in total.
func (g *attentionGradient) scoreGradients(x *backwardScratch, t queries, at, n int) {
	c := g.channels
	k, part := x.k[at*c:], x.dkPart[:n*c]
	clear(part)
	switch g.Score {
	case tensor.Dot:
		p := &g.run.device.simd.Products
		memory := x.pack
		q := p.Pack(memory, simd.Rows(x.q, c), t.n, g.dh)
		rows := simd.Rows(part, c)
		p.Mul(rows, simd.Rows(x.s, t.stride), q, rows, n)
		keys := p.Pack(memory, simd.Rows(k, c), n, g.dh)
		dq := simd.Rows(x.part, c)
		p.Mul(dq, simd.Matrix{Data: x.s, Row: 1, Col: t.stride}, keys, dq, t.n)
	case tensor.Lily:
		t.kernels.Lily.Backward(x.s, t.stride, t.n, x.q, x.part, k, part, n, c)
	default:
		if g.Score == tensor.MaxoutStandardized {
			for j := range n {
				for r := range t.n {
					x.s[j*t.stride+r] *= standardScale
				}
				x.total[j] *= standardScale
			}
		}
		g.run.device.simd.AddOuter(part, x.total[:n], x.ones) // what the queries do not take
		t.kernels.Maxout.Backward(x.s, t.stride, t.n, x.q, x.part, k, part, n, c)
	}
	g.run.addTo(x.dk[at*c:][:n*c], part)
}
