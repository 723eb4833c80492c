package main

import (
	"math"
	"slices"
)

// dual is a number with its derivative along the direction of the weight change (forward-mode
// differentiation).
type dual struct{ v, d float64 }

func (a dual) plus(b dual) dual  { return dual{a.v + b.v, a.d + b.d} }
func (a dual) times(b dual) dual { return dual{a.v * b.v, a.d*b.v + a.v*b.d} }
func (a dual) over(b dual) dual  { return dual{a.v / b.v, (a.d - a.v/b.v*b.d) / b.v} }
func (a dual) softplus() dual    { return dual{softplus(a.v), a.d / (1 + math.Exp(-a.v))} }

func (a dual) gelu() dual {
	slope := (1+math.Erf(a.v/math.Sqrt2))/2 + a.v*math.Exp(-a.v*a.v/2)/math.Sqrt(2*math.Pi)
	return dual{gelu(a.v), slope * a.d}
}

// maxDual returns the larger of two numbers, or a if they are equal.
func maxDual(a, b dual) dual {
	if a.v >= b.v {
		return a
	}
	return b
}

// product returns the matrix product of x [n, in] and w [in, out].
func product(x, w []dual, in, out int) []dual {
	y := make([]dual, len(x)/in*out)
	for i := range len(x) / in {
		for c, v := range x[i*in : (i+1)*in] {
			for o, u := range w[c*out : (c+1)*out] {
				y[i*out+o] = y[i*out+o].plus(v.times(u))
			}
		}
	}
	return y
}

// smallLayer computes one entry f of a layer's output for a few tokens. Every token is a key. The
// attention is the paper's,
//
//	A_ij = Score(q_i, k_j)/√dh · softplus(u·E_ij + a) + v·E_ij + b
//	Y = X + concat_h(P V) W_O,  P_ij = ReLU(A_ij) / (Σ_l ReLU(A_il) + Σ_r softplus(C_r) + 1e-9)
//
// with C = X·W_C and numbers u, a, v, b for each head. f is an entry of Y·W_1, which is linear in
// P, or of Y + GELU(Y·W_1)·W_2. The layer has no norm, because the theorems have none.
type smallLayer struct {
	n, d, heads int
	score       string
	feedForward bool

	x, relation   []dual // [n, d], [n, n]
	queryKey      []dual // W_Q, then W_K: [d, d] each, input channels first
	mul, add      []dual // u and a, v and b, for each head
	leak          []dual // W_C: [d, heads]
	value, out    []dual // [d, d]
	first, second []dual // [d, 4d], and [4d]: the column of W_2 for f
}

// Random streams of this study.
const (
	pseudoTokens uint32 = iota
	pseudoRelation
	pseudoQueryKey
	pseudoMul
	pseudoAdd
	pseudoLeak
	pseudoValue
	pseudoOut
	pseudoFirst
	pseudoSecond
	pseudoTarget
	pseudoFraction
)

func newSmallLayer(r draws, k pseudoconvexityCase, tokens, width int) *smallLayer {
	n, d, h := tokens, width, k.Heads
	l := &smallLayer{n: n, d: d, heads: h, score: k.Score, feedForward: k.FeedForward}
	in := 1 / math.Sqrt(float64(d))
	draw := func(stream uint32, size int, deviation float64) []dual {
		x, out := make([]float64, size), make([]dual, size)
		r.normals(stream, x, deviation)
		for i, v := range x {
			out[i].v = v
		}
		return out
	}
	l.x, l.relation = draw(pseudoTokens, n*d, 1), draw(pseudoRelation, n*n, 1)
	l.queryKey = draw(pseudoQueryKey, 2*d*d, in)
	l.mul, l.add = draw(pseudoMul, 2*h, 1), draw(pseudoAdd, 2*h, 1)
	l.leak = draw(pseudoLeak, d*h, in)
	l.value, l.out = draw(pseudoValue, d*d, in), draw(pseudoOut, d*d, in)
	l.first, l.second = draw(pseudoFirst, 4*d*d, in), draw(pseudoSecond, 4*d, in/2)
	return l
}

// block returns the weights of a block and their standard deviation. The slice is shared with the
// layer.
func (l *smallLayer) block(name string) (w []dual, deviation float64) {
	in := 1 / math.Sqrt(float64(l.d))
	switch name {
	case blockMul:
		return l.mul, 1
	case blockAdd:
		return l.add, 1
	case blockLeak:
		return l.leak, in
	}
	return l.queryKey, in
}

// scores returns A for the first token [heads, n], its query [d], and the keys [n, d].
func (l *smallLayer) scores() (a, q, k []dual) {
	n, d, dh := l.n, l.d, l.d/l.heads
	q, k = product(l.x[:d], l.queryKey[:d*d], d, d), product(l.x, l.queryKey[d*d:], d, d)
	for h := range l.heads {
		for j := range n {
			var m dual
			for c := h * dh; c < (h+1)*dh; c++ {
				if l.score == dotScore {
					m = m.plus(q[c].times(k[j*d+c]))
				} else {
					m = m.plus(maxDual(q[c], k[j*d+c]))
				}
			}
			m = m.over(dual{v: math.Sqrt(float64(dh))})
			mul := l.mul[2*h].times(l.relation[j]).plus(l.mul[2*h+1]).softplus()
			a = append(a, m.times(mul).plus(l.add[2*h].times(l.relation[j])).plus(l.add[2*h+1]))
		}
	}
	return a, q, k
}

// forward computes f, an entry of the first token's row. Entries of other rows have the same form.
func (l *smallLayer) forward() dual {
	n, d, dh := l.n, l.d, l.d/l.heads
	a, _, _ := l.scores()
	for i := range a {
		a[i] = maxDual(dual{}, a[i])
	}
	leak, v, o := product(l.x, l.leak, d, l.heads), product(l.x, l.value, d, d), make([]dual, d)
	for h := range l.heads {
		sum := dual{v: probabilityEpsilon}
		for j := range n {
			sum = sum.plus(leak[j*l.heads+h].softplus().plus(a[h*n+j]))
		}
		for j := range n {
			for c := h * dh; c < (h+1)*dh; c++ {
				o[c] = o[c].plus(a[h*n+j].over(sum).times(v[j*d+c]))
			}
		}
	}
	y := product(o, l.out, d, d)
	for c := range y {
		y[c] = y[c].plus(l.x[c])
	}
	hidden := product(y, l.first, d, 4*d)
	if !l.feedForward {
		return hidden[0]
	}
	f := y[0]
	for i, v := range hidden {
		f = f.plus(l.second[i].times(v.gelu()))
	}
	return f
}

// orthant returns the signs that identify an orthant: the signs of A and, for the maxout score, the
// signs of q − k, which select the operand of each maximum.
func (l *smallLayer) orthant() (out []bool) {
	a, q, k := l.scores()
	for _, a := range a {
		out = append(out, a.v > 0)
	}
	for i, k := range k {
		if l.score == maxoutScore {
			out = append(out, q[i%l.d].v >= k.v)
		}
	}
	return out
}

// fractionInOrthant approximates from below the largest fraction, up to 1, of the straight path from the
// block's weights to target on which the orthant does not change. On this path q, k and maxout's A are
// affine, and A is monotone in R_mul, so it suffices to compare the orthants of the two ends. A of
// the dot product is quadratic and may change its sign twice, so its path is searched in steps.
func (l *smallLayer) fractionInOrthant(block string, target []float64) float64 {
	w, _ := l.block(block)
	from, start := slices.Clone(w), l.orthant()
	defer copy(w, from)
	inOrthant := func(fraction float64) bool {
		for i, v := range target {
			w[i].v = from[i].v + fraction*(v-from[i].v)
		}
		return slices.Equal(l.orthant(), start)
	}
	const steps, halvings = 32, 20
	low, high := 0.0, 1.0
	if l.score == dotScore {
		for i := 1; i <= steps; i++ {
			if high = float64(i) / steps; !inOrthant(high) {
				break
			}
			low = high
		}
	} else if inOrthant(1) {
		return 1
	}
	for range halvings {
		if low == high {
			break
		}
		if middle := (low + high) / 2; inOrthant(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
