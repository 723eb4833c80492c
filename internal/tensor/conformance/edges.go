package conformance

import (
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
)

// edgeFeatures is the number of edge features in the cases, including the number of merged edges.
const edgeFeatures = 3

// edges64 is the dense reference of the relative bias of graphs. It stores the features of all
// pairs.
type edges64 struct {
	sel   selection
	heads int
	a     [][][][]float64 // [B][source][target] features
	w     []float64       // [h, 2r + 2]
	p     []float64       // [S]
	dw    []float64
	ds    []float64 // [S, h, 2r + 3]
}

// linear returns the features a of the edge from position i to position t in the sequence of sampled
// row j, and w_mul·a + b_mul and w_add·a + b_add. Without an edge, a is 0.
func (e *edges64) linear(head, i, t, j int) (a []float64, mul, add float64) {
	const r = edgeFeatures
	w := e.w[head*(2*r+2):][:2*r+2]
	a = e.a[e.sel.sequence[j]][i][t]
	return a, product(w[:r], a) + w[r], product(w[r+1:2*r+1], a) + w[2*r+1]
}

func (e *edges64) terms(head, i, j int) (mul, add float64) {
	e.sel.eachToken(j, e.p, func(weight, _ float64, t int) {
		_, zm, za := e.linear(head, i, t, j)
		mul += weight * softplus64(zm)
		add += weight * za
	})
	return mul, add
}

func (e *edges64) adjoint(head, i, j int, dmul, dadd float64) {
	const r, width = edgeFeatures, 2*edgeFeatures + 3
	out, dw := e.ds[(j*e.heads+head)*width:][:width], e.dw[head*(width-1):][:width-1]
	e.sel.eachToken(j, e.p, func(weight, sign float64, t int) {
		a, zm, za := e.linear(head, i, t, j)
		out[0] += sign * (dmul*softplus64(zm) + dadd*za)
		for c, v := range append(slices.Clone(a), 1) {
			gm, ga := dmul*weight*sigmoid64(zm)*v, dadd*weight*v
			dw[c], out[1+c] = dw[c]+gm, out[1+c]+gm
			dw[r+1+c], out[2+r+c] = dw[r+1+c]+ga, out[2+r+c]+ga
		}
	})
}

func (e *edges64) gradient(r *fixture, tolerance float64) (tensor.RelativeBiasGradient, []pair) {
	const width = 2*edgeFeatures + 3
	dp := zeros(len(e.p))
	for i, v := range e.ds {
		if i%width == 0 {
			dp[i/width/e.heads] += v
		}
	}
	return tensor.PairGradient{D: r.want(r.out(tensor.Sampled, e.heads*width), e.ds, tolerance).Tensor},
		[]pair{{e.w, e.dw}, {e.p, dp}}
}

// edges declares the operands of the relative bias of graphs. About a third of the tokens have no
// incoming edges, some have an edge to themselves, and one token of each graph has edges from all tokens.
func (r *fixture) edges(sel selection, top, partner *operand, heads int) (tensor.RelativeBias, relation64) {
	e := &edges64{sel: sel, heads: heads, ds: zeros(len(sel.top) * heads * (2*edgeFeatures + 3))}
	first, source := []int{0}, []int{}
	for _, n := range r.shape.lengths {
		for target := range n {
			chance := []float64{0, 0.1, 3 / float64(n)}[target%3]
			if target == n/2 {
				chance = 1
			}
			for i := range n {
				if r.random.Float64() < chance {
					source = append(source, i)
				}
			}
			first = append(first, len(source))
		}
	}
	features := r.operand(r.program.Input("features", tensor.Fixed, len(source)+unusedRows, edgeFeatures),
		len(source), edgeFeatures)
	features.set(func(i int) float64 {
		if i%edgeFeatures == edgeFeatures-1 {
			return float64(1 + r.random.IntN(8)/7) // some edges are two merged edges
		}
		return features.x[i]
	})
	words := slices.Clone(first)
	for range unusedRows { // unused tokens
		words = append(words, garbage)
	}
	words = append(words, source...)
	index := integers(r, r.program.Input("index", tensor.Fixed, len(words)+unusedRows), words)
	at := 0
	for _, n := range r.shape.lengths {
		graph := make([][][]float64, n)
		for i := range graph {
			for range n {
				graph[i] = append(graph[i], zeros(edgeFeatures))
			}
		}
		for target := range n {
			for ; at < first[r.offset[len(e.a)]+target+1]; at++ {
				graph[source[at]][target] = features.row(at)
			}
		}
		e.a = append(e.a, graph)
	}
	w, p := r.fixed(heads, 2*edgeFeatures+2), r.weights(sel)
	// Rmul is about 1: with Rmul near 0, the denominator of ReLU is below minSum for any query.
	w.set(func(i int) float64 {
		if i%w.columns == edgeFeatures {
			return 0.5 + 0.3*w.x[i]
		}
		return 0.4 * w.x[i]
	})
	e.w, e.p, e.dw = w.x, p.x, zeros(len(w.x))
	return tensor.EdgeBias{Index: index.Tensor, Features: features.Tensor,
		W: w.Tensor, P: p.Tensor, Top: top.Tensor, Partner: partner.Tensor}, e
}
