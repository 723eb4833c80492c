package cpu

import (
	"sftseq/internal/fmath"
	"sftseq/internal/tensor"
)

// relation yields Rmul and Radd for the queries at positions i, i+1, … of one
// sequence and one of its sampled keys (by its packed row).
type relation interface {
	tile(head, key, i int, mul, add []float32)
	// backward receives the gradients of what tile returned.
	backward(head, key, i int, dmul, dadd []float32)
}

func newRelation(r *run, rel tensor.Relation, grad tensor.RelationGradient) relation {
	switch rel := rel.(type) {
	case nil:
		return noRelation{}
	case tensor.SinusoidRelation:
		s := &sinusoidRelation{
			f: r.floats(rel.F), g: r.floats(rel.G), p: r.floats(rel.P),
			top: r.ints(rel.Top), partner: r.ints(rel.Partner),
			nf: rel.F.Width(), ng: rel.G.Width(), heads: rel.F.Shape[0] / 2,
		}
		if grad != nil {
			g := grad.(tensor.SinusoidGradient)
			s.df, s.dg, s.dp = r.floats(g.DF), r.floats(g.DG), r.floats(g.DP)
		}
		return s
	}
	panic("cpu: unknown relation")
}

// noRelation is Rmul = 1, Radd = 0.
type noRelation struct{}

func (noRelation) tile(_, _, _ int, mul, add []float32) {
	for r := range mul {
		mul[r] = 1
	}
	clear(add)
}

func (noRelation) backward(_, _, _ int, _, _ []float32) {}

// sinusoidRelation reads the tables: the relative term of positions i and j is
// F[|i−j|] + G[i+j].
type sinusoidRelation struct {
	f, g, p       []float32
	df, dg, dp    []float32
	top, partner  []int32
	nf, ng, heads int
}

// tables returns head's tables of Rmul and of Radd.
func (s *sinusoidRelation) tables(head int, f, g []float32) (fm, gm, fa, ga []float32) {
	add := head + s.heads
	return f[head*s.nf:][:s.nf], g[head*s.ng:][:s.ng], f[add*s.nf:][:s.nf], g[add*s.ng:][:s.ng]
}

func (s *sinusoidRelation) tile(head, key, i int, mul, add []float32) {
	fm, gm, fa, ga := s.tables(head, s.f, s.g)
	top, p := int(s.top[key]), s.p[key]
	add = add[:len(mul)]
	for r := range mul {
		t, u := distance(i+r, top), i+r+top
		mul[r] = p * fmath.Softplus(fm[t]+gm[u])
		add[r] = p * (fa[t] + ga[u])
	}
	if s.partner[key] < 0 {
		return
	}
	partner, p := int(s.partner[key]), 1-p
	for r := range mul {
		t, u := distance(i+r, partner), i+r+partner
		mul[r] += float32(p * fmath.Softplus(fm[t]+gm[u]))
		add[r] += float32(p * (fa[t] + ga[u]))
	}
}

func (s *sinusoidRelation) backward(head, key, i int, dmul, dadd []float32) {
	fm, gm, fa, ga := s.tables(head, s.f, s.g)
	dfm, dgm, dfa, dga := s.tables(head, s.df, s.dg)
	dadd = dadd[:len(dmul)]
	// scatter adds one token's share, and returns Σ dRmul·softplus + dRadd·add.
	scatter := func(position int, p float32) float32 {
		var sum float32
		for r, dm := range dmul {
			da := dadd[r]
			if dm == 0 && da == 0 {
				continue
			}
			t, u := distance(i+r, position), i+r+position
			soft, sigmoid := fmath.SoftplusSigmoid(fm[t] + gm[u])
			sum += float32(dm*soft) + float32(da*(fa[t]+ga[u]))
			gm := float32(dm*p) * sigmoid
			ga := da * p
			dfm[t] += gm
			dgm[u] += gm
			dfa[t] += ga
			dga[u] += ga
		}
		return sum
	}
	p := s.p[key]
	sum := scatter(int(s.top[key]), p)
	if s.partner[key] >= 0 {
		s.dp[key*s.heads+head] += sum - scatter(int(s.partner[key]), 1-p)
	}
}

func distance(i, j int) int {
	if i < j {
		return j - i
	}
	return i - j
}
