package conformance

import "github.com/sftseq/sftseq/internal/tensor"

// relation is the kind of relative bias of a case.
type relation uint8

const (
	noRelation relation = iota
	sinusoids
	distances
	distancesAndNormals
	edges
)

var relations = []relation{noRelation, sinusoids, distances, distancesAndNormals, edges}

func (r relation) String() string {
	return [...]string{"false", "true", "distance", "distance and normal", "edges"}[r]
}

// relation64 is the reference of a relative bias on a batch.
type relation64 interface {
	// terms returns Rmul and Radd for a query at position i and sampled row j.
	terms(head, i, j int) (mul, add float64)
	// adjoint adds the gradients of terms to sums, which gradient reads.
	adjoint(head, i, j int, dmul, dadd float64)
	// gradient declares the outputs, with the sums of adjoint as expected results. It also returns
	// the variables with their reference gradients.
	gradient(r *fixture, tolerance float64) (tensor.RelativeBiasGradient, []pair)
}

// relation declares the operands of a kind of relative bias.
func (r *fixture) relation(kind relation, sel selection, top, partner *operand,
	heads int) (tensor.RelativeBias, relation64) {
	switch kind {
	case sinusoids:
		return r.relativeBias(sel, top, partner, heads)
	case distances, distancesAndNormals:
		return r.distance(int(kind-distances)+1, sel, top, partner, heads)
	case edges:
		return r.edges(sel, top, partner, heads)
	}
	return nil, none64{}
}

// none64 is the reference for Rmul = 1, Radd = 0.
type none64 struct{}

func (none64) terms(_, _, _ int) (mul, add float64)                             { return 1, 0 }
func (none64) adjoint(_, _, _ int, _, _ float64)                                {}
func (none64) gradient(*fixture, float64) (tensor.RelativeBiasGradient, []pair) { return nil, nil }

// relativeBias64 is the reference of the sinusoidal bias on a batch.
type relativeBias64 struct {
	sel    selection
	heads  int
	n      int       // length of the longest sequence
	f, g   []float64 // [2h, 2n−1]: one row for each head's Rmul, then one for each head's Radd
	p      []float64 // [S]
	df, dg []float64
	dp     []float64 // [S, h]
}

// terms returns Rmul and Radd for a query at position i and sampled row j.
func (r *relativeBias64) terms(head, i, j int) (mul, add float64) {
	r.eachToken(j, func(weight, _ float64, position int) {
		mul += weight * softplus64(r.entry(head, i, position))
		add += weight * r.entry(r.heads+head, i, position)
	})
	return mul, add
}

// adjoint adds the gradients of terms to the sums.
func (r *relativeBias64) adjoint(head, i, j int, dmul, dadd float64) {
	r.eachToken(j, func(weight, sign float64, position int) {
		mul, add := r.entry(head, i, position), r.entry(r.heads+head, i, position)
		r.addGradient(head, i, position, dmul*weight*sigmoid64(mul))
		r.addGradient(r.heads+head, i, position, dadd*weight)
		r.dp[j*r.heads+head] += sign * (dmul*softplus64(mul) + dadd*add)
	})
}

// eachToken visits the tokens of duplet j with their weight and the derivative of the weight
// with respect to p.
func (r *relativeBias64) eachToken(j int, visit func(weight, sign float64, position int)) {
	r.sel.eachToken(j, r.p, visit)
}

func (r *relativeBias64) gradient(x *fixture, tolerance float64) (tensor.RelativeBiasGradient, []pair) {
	wide := r.n + unusedRows
	return tensor.SinusoidGradient{
		DP: x.want(x.out(tensor.Sampled, r.heads), r.dp, tolerance).Tensor,
		DF: x.want(x.outColumns(2*r.heads, 2*wide, 2*r.n-1), r.df, tolerance).Tensor,
		DG: x.want(x.outColumns(2*r.heads, 2*wide, 2*r.n-1), r.dg, tolerance).Tensor,
	}, []pair{{r.f, r.df}, {r.g, r.dg}, {r.p, sumColumns(r.dp, len(r.p))}}
}

// sumColumns returns the sum of each row: the gradient of p, which all heads share.
func sumColumns(x []float64, rows int) []float64 {
	out := zeros(rows)
	for i, v := range x {
		out[i/(len(x)/rows)] += v
	}
	return out
}

func (r *relativeBias64) entry(row, i, j int) float64 {
	return r.f[row*(2*r.n-1)+i-j+r.n-1] + r.g[row*(2*r.n-1)+i+j]
}

func (r *relativeBias64) addGradient(row, i, j int, v float64) {
	r.df[row*(2*r.n-1)+i-j+r.n-1] += v
	r.dg[row*(2*r.n-1)+i+j] += v
}

// relativeBias declares the operands of a sinusoidal bias. F is not an even function of i−j, so that a
// kernel which mirrors F fails.
func (r *fixture) relativeBias(sel selection, top, partner *operand, heads int) (tensor.RelativeBias, relation64) {
	n := int(r.counts.Longest)
	table := func() *operand { return r.columns(2*heads, 2*(n+unusedRows), 2*n-1) }
	f, g, e := table(), table(), table()
	e.set(func(i int) float64 { return exp64(f.x, g.x, i) })
	p := r.weights(sel)
	return tensor.SinusoidBias{F: f.Tensor, G: g.Tensor, E: e.Tensor, P: p.Tensor, Top: top.Tensor,
			Partner: partner.Tensor},
		&relativeBias64{sel: sel, heads: heads, n: n, f: f.x, g: g.x, p: p.x,
			df: zeros(len(f.x)), dg: zeros(len(g.x)), dp: zeros(len(sel.top) * heads)}
}
