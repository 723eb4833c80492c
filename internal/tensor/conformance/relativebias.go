package conformance

import "github.com/sftseq/sftseq/internal/tensor"

// relativeBias64 is the sinusoidal bias of one batch; nil is Rmul = 1, Radd = 0.
type relativeBias64 struct {
	sel    selection
	heads  int
	n      int       // longest sequence
	f, g   []float64 // [2h, 2n−1]: Rmul's heads, then Radd's
	p      []float64 // [S]
	df, dg []float64
	dp     []float64 // [S, h]
}

// terms are Rmul and Radd of a query's position i and sampled row j.
func (r *relativeBias64) terms(head, i, j int) (mul, add float64) {
	if r == nil {
		return 1, 0
	}
	r.each(j, func(weight, _ float64, position int) {
		mul += weight * softplus64(r.entry(head, i, position))
		add += weight * r.entry(r.heads+head, i, position)
	})
	return mul, add
}

// adjoint takes the gradients of terms.
func (r *relativeBias64) adjoint(head, i, j int, dmul, dadd float64) {
	if r == nil {
		return
	}
	r.each(j, func(weight, sign float64, position int) {
		mul, add := r.entry(head, i, position), r.entry(r.heads+head, i, position)
		r.put(head, i, position, dmul*weight*sigmoid64(mul))
		r.put(r.heads+head, i, position, dadd*weight)
		r.dp[j*r.heads+head] += sign * (dmul*softplus64(mul) + dadd*add)
	})
}

// each visits the tokens of a duplet: a weight and its derivative by p.
func (r *relativeBias64) each(j int, visit func(weight, sign float64, position int)) {
	if r.sel.partner[j] < 0 {
		visit(1, 0, r.sel.top[j])
		return
	}
	visit(r.p[j], 1, r.sel.top[j])
	visit(1-r.p[j], -1, r.sel.partner[j])
}

func (r *relativeBias64) entry(row, i, j int) float64 {
	return r.f[row*(2*r.n-1)+i-j+r.n-1] + r.g[row*(2*r.n-1)+i+j]
}

func (r *relativeBias64) put(row, i, j int, v float64) {
	r.df[row*(2*r.n-1)+i-j+r.n-1] += v
	r.dg[row*(2*r.n-1)+i+j] += v
}

// relativeBias declares the operands of a sinusoidal bias. F is not even: one
// side read for the other shows.
func (r *fixture) relativeBias(sel selection, top, partner *operand, heads int) (tensor.RelativeBias, *relativeBias64) {
	n := int(r.counts.Longest)
	table := func() *operand { return r.columns(2*heads, 2*(n+spare), 2*n-1) }
	f, g, e := table(), table(), table()
	e.set(func(i int) float64 { return exp64(f.x, g.x, i) })
	p := r.weights(sel)
	return tensor.SinusoidBias{F: f.Tensor, G: g.Tensor, E: e.Tensor, P: p.Tensor, Top: top.Tensor, Partner: partner.Tensor},
		&relativeBias64{sel: sel, heads: heads, n: n, f: f.x, g: g.x, p: p.x,
			df: zeros(len(f.x)), dg: zeros(len(g.x)), dp: zeros(len(sel.top) * heads)}
}
