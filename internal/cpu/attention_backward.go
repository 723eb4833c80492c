package cpu

import (
	"math"

	"github.com/sftseq/sftseq/internal/simd"
	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register(whole(attentionBackward)) }

// attentionBackward computes the gradients of attention. A worker owns some heads and processes the
// sequences and their tiles in order, so that every sum over queries has a fixed order without a
// reduction.
func attentionBackward(r *run, k tensor.AttentionBackward) {
	a := newAttentionRun(r, k.Forward, k.Gradient)
	g := &attentionGradient{attentionRun: a, dq: r.floats(k.DQ), dk: r.floats(k.DK),
		dv: r.floats(k.DV), do: r.floats(k.DO)}
	g.channels = roundUp(a.dh, r.device.simd.Width)
	g.columns = r.device.simd.Columns(a.dh)
	sampledRows := r.rows(k.DK) * a.d
	clear(g.dk[:sampledRows])
	clear(g.dv[:sampledRows])
	if k.DLeak != nil {
		g.dleak = r.floats(k.DLeak)
	}
	switch g := k.Gradient.(type) {
	case tensor.SinusoidGradient:
		for _, t := range []*tensor.Tensor{g.DF, g.DG, g.DP} {
			clear(r.floats(t))
		}
	case tensor.PairGradient:
		clear(r.floats(g.D))
	}
	group := g.headsPerGroup()
	r.parallel((a.Heads+group-1)/group, func(w *worker, piece int) {
		for b := range a.n {
			if w == r.self {
				r.yield() // a piece takes a long time
			}
			g.sequence(w, b, piece*group, min(a.Heads, (piece+1)*group))
		}
	})
}

type attentionGradient struct {
	*attentionRun
	dq, dk, dv, do, dleak []float32
	channels              int // dh rounded up to whole vectors, for the scores
	columns               int // dh and the padding that the matrix products read
}

// roundUp returns the smallest multiple of step that is at least n.
func roundUp(n, step int) int { return (n + step - 1) / step * step }

// headScratch is a worker's memory for one sequence and head.
type headScratch struct {
	k, v, dk, dv []float32 // [keys, width], with the widths channels, dh, channels and columns
	dleak        float32
}

// headFloats returns the size of a headScratch in floats.
func (g *attentionGradient) headFloats(keys int) int { return keys * (2*g.channels + g.dh + g.columns) }

func (g *attentionGradient) newHead(memory []float32, keys int) headScratch {
	next := carve(memory)
	return headScratch{k: next(keys * g.channels), v: next(keys * g.dh), dk: next(keys * g.channels),
		dv: next(keys * g.columns)}
}

// carve returns a function that allocates consecutive parts of memory.
func carve(memory []float32) func(size int) []float32 {
	return func(size int) []float32 {
		y := memory[:size:size]
		memory = memory[size:]
		return y
	}
}

// backwardScratch is a worker's memory for one tile.
type backwardScratch struct {
	*headScratch

	s, d           []float32 // [keyTile, stride]
	qt, dot, ot    []float32 // [dh, stride] queries, dO/Z and O, transposed
	q, do          []float32 // [stride, channels], [stride, columns] queries and dO/Z as rows
	dq, part       []float32 // [stride, channels]
	inverse, delta []float32 // [stride] 1/Z, −D/Z; see load
	total          []float32 // [keyTile]
	dkPart         []float32 // [keyTile, channels]
	pack           []float32 // queries or keys as a packed right factor
	unused         []float32 // [stride]
	ones           []float32 // [channels]
}

// maxStride is the maximum stride of a tile.
const maxStride = queryTile + 16

// packedFloats returns the size in floats of queries or keys as a packed right factor.
func (g *attentionGradient) packedFloats() int {
	return g.run.device.simd.PackedSize(max(maxStride, keyTile), g.dh)
}

// scratchFloats returns the size of a backwardScratch in floats.
func (g *attentionGradient) scratchFloats() int {
	c := g.channels
	return 2*keyTile*maxStride + 3*g.dh*maxStride + maxStride*(3*c+g.columns) + 3*maxStride +
		keyTile*(1+c) + g.packedFloats() + c
}

func (g *attentionGradient) newScratch(memory []float32) backwardScratch {
	c, next := g.channels, carve(memory)
	b := backwardScratch{
		s: next(keyTile * maxStride), d: next(keyTile * maxStride), qt: next(g.dh * maxStride),
		dot: next(g.dh * maxStride), ot: next(g.dh * maxStride),
		q: next(maxStride * c), do: next(maxStride * g.columns), dq: next(maxStride * c), part: next(maxStride * c),
		inverse: next(maxStride), delta: next(maxStride), total: next(keyTile), dkPart: next(keyTile * c),
		pack: next(g.packedFloats()), unused: next(maxStride), ones: next(c),
	}
	for i := range b.ones {
		b.ones[i] = 1
	}
	return b
}

// headsPerGroup returns the number of heads that a worker processes for each tile. Their channels are
// adjacent in a row, which is then loaded only once. The result is the largest number of heads that
// fits the second-level cache and keeps all threads as busy as single heads would.
func (g *attentionGradient) headsPerGroup() int {
	const maxFloats = 1 << 16
	keys := 0
	for b := range g.n {
		lo, end := g.keys(b)
		keys = max(keys, end-lo)
	}
	headsPerWorker := func(group int) int { // maximum heads per worker
		pieces := (g.Heads + group - 1) / group
		return (pieces + g.run.device.threads - 1) / g.run.device.threads * group
	}
	group := 1
	for n := 2; n <= g.Heads && n*g.headFloats(keys) <= maxFloats; n++ {
		if headsPerWorker(n) == headsPerWorker(1) {
			group = n
		}
	}
	return group
}

// sequence computes the gradients of sequence b for the heads [from, to).
func (g *attentionGradient) sequence(w *worker, b, from, to int) {
	lo, end := g.keys(b)
	keys := end - lo
	next := carve(w.floats(g.scratchFloats() + (to-from)*g.headFloats(keys)))
	x := g.newScratch(next(g.scratchFloats()))
	heads := make([]headScratch, to-from)
	for i := range heads {
		h := g.newHead(next(g.headFloats(keys)), keys)
		g.copyHead(h.k, g.k, lo, keys, from+i, g.channels)
		g.copyHead(h.v, g.v, lo, keys, from+i, g.dh)
		clear(h.dk)
		clear(h.dv)
		heads[i] = h
	}
	first, last := g.tokens(b)
	for tile := range g.tiles(last - first) {
		for i := range heads {
			x.headScratch = &heads[i]
			heads[i].dleak += g.tile(&x, g.attentionRun.tile(w, b, from+i, tile), lo, keys)
		}
	}
	for i, h := range heads {
		head := from + i
		if g.dleak != nil {
			g.dleak[b*g.Heads+head] = h.dleak
		}
		for j := range keys {
			copy(g.head(g.dk, lo+j, head)[:g.dh], h.dk[j*g.channels:])
			copy(g.head(g.dv, lo+j, head)[:g.dh], h.dv[j*g.columns:])
		}
	}
}

// load fills the scratch with the data of the tile's queries, and returns their contribution to the
// gradient of the leak. With D = Σ dO·O, softmax needs dP − D (Z = 1 here), and ReLU weights
// need (dP − D)/Z. Queries that overlap the previous tile contribute nothing.
func (g *attentionGradient) load(x *backwardScratch, t queries, softmax bool) (dleak float32) {
	clear(x.dq)
	g.loadQueries(t, x.qt)
	g.rows(t, x.q, g.channels, x.qt)
	t.kernels.Transpose(x.dot, t.stride, g.head(g.do, t.row, t.head), g.d, t.n, g.dh)
	t.kernels.Transpose(x.ot, t.stride, g.head(g.o, t.row, t.head), g.d, t.n, g.dh)
	t.kernels.DotColumns(x.delta, x.ot, x.dot, t.stride, g.dh, t.n)
	clear(x.inverse[:t.skip])
	for r := t.skip; r < t.n; r++ {
		x.inverse[r] = 1
		if !softmax {
			x.inverse[r] = 1 / g.norm[(t.row+r)*g.Heads+t.head]
		}
	}
	for r, z := range x.inverse[:t.n] {
		x.delta[r] *= -z
		if !softmax {
			dleak += x.delta[r]
		}
	}
	t.kernels.ScaleRows(x.dot, t.stride, g.dh, t.n, x.inverse)
	g.rows(t, x.do, g.columns, x.dot)
	return dleak
}

// rows transposes src [dh, stride] to dst [queries, width], padded with 0.
func (g *attentionGradient) rows(t queries, dst []float32, width int, src []float32) {
	if width > g.dh {
		clear(dst[:t.n*width])
	}
	t.kernels.Transpose(dst, width, src, t.stride, g.dh, t.n)
}

// tile computes the gradients of a tile of queries and returns its contribution to the gradient of
// the leak.
func (g *attentionGradient) tile(x *backwardScratch, t queries, lo, keys int) (dleak float32) {
	softmax := g.Probability == tensor.Softmax
	dleak = g.load(x, t, softmax)
	for block := 0; block < keys; block += sumKeys {
		clear(x.part)
		for at := block; at < min(keys, block+sumKeys); at += keyTile {
			n := min(keyTile, keys-at)
			g.prefetch(t, lo+at, g.dq, g.q, g.o, g.do)
			g.scores(t, x.s, x.qt, x.k[at*g.channels:], g.channels, n)
			g.weightGradients(x, t, at, n)
			if softmax {
				g.softmaxWeights(x, t, lo+at, n)
				g.valueGradients(x, t, x.s, at, n)
				for i, p := range x.s[:n*t.stride] {
					x.d[i] *= p
				}
				g.scores(t, x.s, x.qt, x.k[at*g.channels:], g.channels, n)
				g.relativeBias.backward(t, lo+at, n, x.s, x.d, false, x.total)
			} else {
				g.relativeBias.backward(t, lo+at, n, x.s, x.d, true, x.total)
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

// weightGradients computes d[j][r] = (dO_r·v_j − D_r)/Z_r for the keys [at, at+n); see load.
func (g *attentionGradient) weightGradients(x *backwardScratch, t queries, at, n int) {
	p := &g.run.device.simd.Products
	p.Mul(simd.Rows(x.d, t.stride), simd.Rows(x.v[at*g.dh:], g.dh), p.View(x.dot, t.stride, g.dh, t.n),
		simd.Rows(x.delta, 0), n)
}

// valueGradients adds Σ_r weight[j][r]·dO_r/Z_r to dv.
func (g *attentionGradient) valueGradients(x *backwardScratch, t queries, weight []float32, at, n int) {
	p := &g.run.device.simd.Products
	dv := simd.Rows(x.dv[at*g.columns:], g.columns)
	p.Mul(dv, simd.Rows(weight, t.stride), p.View(x.do, g.columns, t.n, g.columns), dv, n)
}

// softmaxWeights converts unscaled scores to the weights P.
func (g *attentionGradient) softmaxWeights(x *backwardScratch, t queries, at, n int) {
	g.relativeBias.forward(t, at, n, x.s, float32(math.Inf(-1)), x.unused)
	for j := range n {
		row := x.s[j*t.stride:][:t.n]
		for r := range row {
			row[r] -= g.norm[(t.row+r)*g.Heads+t.head]
		}
		t.kernels.Exp(row, row)
	}
}

// scoreGradients adds the gradients of the queries to x.part and those of the keys [at, at+n) to x.dk. x.s
// holds the gradients of the scores, x.total their sums over queries.
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
		g.run.device.simd.AddOuter(part, x.total[:n], x.ones) // the term that does not depend on the queries
		t.kernels.Maxout.Backward(x.s, t.stride, t.n, x.q, x.part, k, part, n, c)
	}
	g.run.addTo(x.dk[at*c:][:n*c], part)
}
