package cpu

import (
	"slices"

	"github.com/sftseq/sftseq/internal/simd"
	"github.com/sftseq/sftseq/internal/tensor"
)

// relativeBias computes the relative terms of a tile of queries and of the sampled keys in the packed
// rows [at, at+keys). Each key has a row of t.stride scores.
type relativeBias interface {
	// forward turns the unscaled scores m into max(A, floor), and adds the sum over the keys to
	// sum.
	forward(t queries, at, keys int, s []float32, floor float32, sum []float32)
	// backward reads m from s and dA from d. It writes dm to s, and Σ_r dm for each key to total.
	// With relu, dA counts only where A > 0, and d becomes ReLU(A).
	backward(t queries, at, keys int, s, d []float32, relu bool, total []float32)
}

func newRelativeBias(a *attentionRun, rel tensor.RelativeBias, grad tensor.RelativeBiasGradient) relativeBias {
	switch rel := rel.(type) {
	case nil:
		return noRelativeBias{a.scale}
	case tensor.SinusoidBias:
		return newSinusoidBias(a, rel, grad)
	case tensor.DistanceBias:
		return newDistanceBias(a, rel, grad)
	case tensor.EdgeBias:
		return newEdgeBias(a, rel, grad)
	}
	panic("cpu: unknown relative position bias")
}

// noRelativeBias implements Rmul = 1, Radd = 0.
type noRelativeBias struct{ scale float32 }

func (n noRelativeBias) forward(t queries, _, keys int, s []float32, floor float32, sum []float32) {
	t.kernels.ScaleTile(s, t.stride, keys, t.n, n.scale, floor, sum)
}

func (n noRelativeBias) backward(t queries, _, keys int, s, d []float32, relu bool, total []float32) {
	for j := range keys {
		row, da := s[j*t.stride:][:t.n], d[j*t.stride:][:t.n]
		var sum float32
		for r, m := range row {
			v := da[r]
			if relu {
				a := m * n.scale
				if !(a > 0) {
					v = 0
				}
				da[r] = max(a, 0)
			}
			v *= n.scale
			row[r] = v
			sum += v
		}
		total[j] = sum
	}
}

// sinusoidBias computes the terms from the tables of the sinusoidal encoding.
type sinusoidBias struct {
	f, g, e, p   []float32
	df, dg, dp   []float32
	top, partner []int32
	width        int // row width of the tables
	heads        int
	longest      int
	scale        float32
	wide         []bool // per sequence and head: an exponential is outside the range of the vector kernels
}

func newSinusoidBias(a *attentionRun, rel tensor.SinusoidBias, grad tensor.RelativeBiasGradient) *sinusoidBias {
	r := a.run
	s := &sinusoidBias{
		f: r.floats(rel.F), g: r.floats(rel.G), e: r.floats(rel.E), p: r.floats(rel.P),
		top: r.ints(rel.Top), partner: r.ints(rel.Partner),
		width: rel.F.Width(), heads: a.Heads, longest: int(r.counts[tensor.CountLongest]), scale: a.scale,
		wide: make([]bool, a.n*a.Heads),
	}
	if grad != nil {
		g := grad.(tensor.SinusoidGradient)
		s.df, s.dg, s.dp = r.floats(g.DF), r.floats(g.DG), r.floats(g.DP)
	}
	lengths := make([]int, a.n)
	for b := range lengths {
		lo, hi := a.tokens(b)
		lengths[b] = hi - lo
	}
	r.parallel(a.Heads, func(_ *worker, head int) { s.markWide(head, lengths) })
	return s
}

// markWide marks the sequences for which an exponential of a head is out of range. If the longest
// sequence is in range, all are, because it uses every entry that shorter sequences use.
func (s *sinusoidBias) markWide(head int, lengths []int) {
	if len(lengths) == 0 || !s.outOfRange(head, slices.Max(lengths)) {
		return
	}
	for b, n := range lengths {
		s.wide[b*s.heads+head] = s.outOfRange(head, n)
	}
}

// outOfRange reports whether an exponential for a sequence of n tokens is outside 2⁻⁶³ … 2⁶³, where
// a product might overflow or underflow float32. This only happens with diverged weights.
func (s *sinusoidBias) outOfRange(head, n int) bool {
	for _, x := range [][]float32{s.row(s.e, head)[s.longest-n:][:2*n-1], s.row(s.e, s.heads+head)[:2*n-1]} {
		for _, v := range x {
			if !(v >= 0x1p-63 && v <= 0x1p63) {
				return true
			}
		}
	}
	return false
}

// row returns row i of a table.
func (s *sinusoidBias) row(table []float32, i int) []float32 {
	return table[i*s.width:][:s.width]
}

// farTables is the maximum sequence length for which a head's four tables fit the second-level cache.
// Each table has 8 bytes per token.
const farTables = 16384

// sinusoidScratch is a worker's memory for one tile.
type sinusoidScratch struct {
	tile simd.SinusoidTile
	rows [4 * queryTile]float32
	dp   [keyTile]float32
}

// tile returns the description of a tile for the vector kernels.
func (s *sinusoidBias) tile(t queries, at, keys int, scores []float32) *simd.SinusoidTile {
	h, add, w := t.head, t.head+s.heads, &t.worker.relativeBias
	w.tile = simd.SinusoidTile{
		S: scores, EF: s.row(s.e, h), EG: s.row(s.e, add), FA: s.row(s.f, add), GA: s.row(s.g, add),
		FM: s.row(s.f, h), GM: s.row(s.g, h),
		Top: s.top[at:][:keys], Partner: s.partner[at:][:keys], P: s.p[at:][:keys],
		Keys: keys, N: t.n, Stride: t.stride, FOrigin: t.position + s.longest - 1, GOrigin: t.position, Scale: s.scale,
		Scratch: w.rows[:],
	}
	return &w.tile
}

func (s *sinusoidBias) forward(t queries, at, keys int, scores []float32, floor float32, sum []float32) {
	tile := s.tile(t, at, keys, scores)
	tile.Floor, tile.Sum = floor, sum
	switch {
	case s.wide[t.b*s.heads+t.head]:
		simd.SinusoidGo(tile)
	case s.longest > farTables:
		t.kernels.SinusoidFar(tile)
	default:
		t.kernels.Sinusoid(tile)
	}
}

func (s *sinusoidBias) backward(t queries, at, keys int, scores, d []float32, relu bool, total []float32) {
	tile := s.tile(t, at, keys, scores)
	h, add := t.head, t.head+s.heads
	tile.DFM, tile.DGM, tile.DFA, tile.DGA = s.row(s.df, h), s.row(s.dg, h), s.row(s.df, add), s.row(s.dg, add)
	dp := t.worker.relativeBias.dp[:keys]
	clear(dp)
	tile.D, tile.Total, tile.DP = d, total, dp
	if !relu || s.wide[t.b*s.heads+t.head] {
		simd.SinusoidBackwardGo(tile, relu)
	} else {
		t.kernels.SinusoidBackward(tile)
	}
	for j, v := range dp {
		if s.partner[at+j] >= 0 {
			s.dp[(at+j)*s.heads+t.head] += v
		}
	}
}
