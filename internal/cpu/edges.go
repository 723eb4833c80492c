package cpu

import (
	"slices"

	"github.com/sftseq/sftseq/internal/fmath"
	"github.com/sftseq/sftseq/internal/tensor"
)

// edgeBias is the relative bias of the tokens of a graph. In a head, all pairs without an edge have the
// same terms. All pairs first get these terms; those of the few pairs with an edge are then corrected.
type edgeBias struct {
	pairBias
	first, source []int32
	features      []float32
}

func newEdgeBias(a *attentionRun, rel tensor.EdgeBias, grad tensor.RelativeBiasGradient) *edgeBias {
	index, tokens := a.run.ints(rel.Index), a.Q.Shape[0]
	return &edgeBias{pairBias: newPairBias(a, rel.W, rel.P, rel.Top, rel.Partner, rel.PairFeatures(), grad),
		first: index[:tokens+1], source: index[tokens+1:], features: a.run.floats(rel.Features)}
}

// edgeScratch is a worker's memory for one key and a tile of queries.
type edgeScratch struct {
	memory [5 * queryTile]float32
	edges  []edge
	terms  pairTerms // terms of pairs without an edge, then corrected by the key's edges
	ones   []float32
	edgeHead
}

// edgeHead holds the parameters of a head.
type edgeHead struct {
	mul, add                 []float32 // weights for Rmul and Radd
	bias                     float32   // bias for Rmul
	softplus, slope, addBias float32   // softplus(bias), its derivative, and Radd without an edge
}

// edge is an edge from a query of the tile to a token of the key.
type edge struct {
	query            int // index of the query in the tile
	features         []float32
	weight           float32 // p, or 1 − p
	sign             float32 // derivative of the weight with respect to p
	softplus, linear float32 // softplus(z) and w_add·a, minus the values without an edge
	slope            float32 // σ(z)
}

// newRows allocates the scratch for a tile and sets the terms of pairs without an edge.
func (e *edgeBias) newRows(t queries) *edgeScratch {
	w := &t.worker.edges
	next := carve(w.memory[:])
	row := func() []float32 { return next(t.n) }
	w.terms, w.ones = pairTerms{mul: row(), add: row(), dmul: row(), dadd: row()}, row()
	weights := e.w[t.head*2*(e.featureCount+1):][:2*(e.featureCount+1)]
	w.mul, w.bias, w.add, w.addBias = weights[:e.featureCount], weights[e.featureCount],
		weights[e.featureCount+1:2*e.featureCount+1], weights[2*e.featureCount+1]
	w.softplus, w.slope = fmath.SoftplusSigmoid(w.bias)
	for i := range t.n {
		w.terms.mul[i], w.terms.add[i], w.ones[i] = w.softplus, w.addBias, 1
	}
	return w
}

// findEdges returns the edges from queries of the tile to the tokens of key j.
func (e *edgeBias) findEdges(t queries, w *edgeScratch, j int) []edge {
	w.edges = w.edges[:0]
	weight, sign := e.p[j], float32(1)
	if e.partner[j] < 0 {
		weight, sign = 1, 0
	}
	w.edges = e.appendEdges(t, w, e.top[j], weight, sign)
	if e.partner[j] >= 0 {
		w.edges = e.appendEdges(t, w, e.partner[j], 1-weight, -1)
	}
	return w.edges
}

// appendEdges appends to w.edges the edges from queries of the tile to the token at a position.
func (e *edgeBias) appendEdges(t queries, w *edgeScratch, position int32, weight, sign float32) []edge {
	row := e.offset[t.b] + position
	index, end := int(e.first[row]), int(e.first[row+1])
	begin, _ := slices.BinarySearch(e.source[index:end], int32(t.position))
	for index += begin; index < end && int(e.source[index]) < t.position+t.n; index++ {
		h := edge{query: int(e.source[index]) - t.position,
			features: e.features[index*e.featureCount:][:e.featureCount],
			weight:   weight, sign: sign}
		z := w.bias
		for c, a := range h.features {
			z += float32(w.mul[c] * a)
			h.linear += float32(w.add[c] * a)
		}
		h.softplus, h.slope = fmath.SoftplusSigmoid(z)
		h.softplus -= w.softplus
		w.edges = append(w.edges, h)
	}
	return w.edges
}

// correct adds the effect of edges to the terms of a key.
func (w *edgeScratch) correct(edges []edge) {
	for _, h := range edges {
		w.terms.mul[h.query] += float32(h.weight * h.softplus)
		w.terms.add[h.query] += float32(h.weight * h.linear)
	}
}

// restore undoes the changes that a call of correct with the same edges made.
func (w *edgeScratch) restore(edges []edge) {
	for _, h := range edges {
		w.terms.mul[h.query], w.terms.add[h.query] = w.softplus, w.addBias
	}
}

func (e *edgeBias) forward(t queries, at, keys int, s []float32, floor float32, sum []float32) {
	w := e.newRows(t)
	for j := range keys {
		edges := e.findEdges(t, w, at+j)
		w.correct(edges)
		row := s[j*t.stride:][:t.n]
		t.kernels.ScaleRows(row, t.n, 1, t.n, w.terms.mul)
		t.kernels.AddScaled(row, w.terms.add, row, e.scale)
		t.kernels.ScaleTile(row, t.stride, 1, t.n, 1, floor, sum)
		w.restore(edges)
	}
}

func (e *edgeBias) backward(t queries, at, keys int, s, da []float32, relu bool, total []float32) {
	w := e.newRows(t)
	n := e.featureCount
	var sum [1]float32
	for j := range keys {
		edges := e.findEdges(t, w, at+j)
		w.correct(edges)
		total[j] = w.terms.scoreGradients(s[j*t.stride:][:t.n], da[j*t.stride:][:t.n], e.scale, relu)
		w.restore(edges)
		out := e.d[((at+j)*e.heads+t.head)*(2*n+3):][:2*n+3]
		dp, dmul, dadd := &out[0], out[1:n+2], out[n+2:] // dmul and dadd end with the bias
		t.kernels.RowDot(sum[:], w.ones, w.terms.dmul, 0)
		dmul[n] += float32(sum[0] * w.slope)
		t.kernels.RowDot(sum[:], w.ones, w.terms.dadd, 0)
		dadd[n] += sum[0]
		for _, h := range edges {
			gm, ga := w.terms.dmul[h.query], w.terms.dadd[h.query]
			*dp += float32(h.sign * (float32(gm*h.softplus) + float32(ga*h.linear)))
			gm *= h.weight
			dmul[n] += float32(gm * (h.slope - w.slope))
			gm *= h.slope
			ga *= h.weight
			for c, a := range h.features {
				dmul[c] += float32(gm * a)
				dadd[c] += float32(ga * a)
			}
		}
	}
}
