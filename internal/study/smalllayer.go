package study

import "math"

// smallLayer is one layer on a few tokens, with every token a key, and an entry f of its
// output. Its attention is the paper's,
//
//	A_ij = Score(q_i, k_j)/√dh · softplus(u·E_ij + a) + v·E_ij + b
//	Y = X + concat_h(P V) W_O,  P_ij = ReLU(A_ij) / (Σ_l ReLU(A_il) + Σ_r softplus(C_r) + 1e-9)
//
// with C = X·W_C and numbers u, a, v, b of each head. f is an entry of Y·W_1, which is
// linear in P, or of Y + W_2 GELU(W_1 Y). There is no norm: the theorem has none.
type smallLayer struct {
	n, d, heads int
	score       string
	feedForward bool

	x, relation   []float64 // [n, d], [n, n]
	queryKey      []float64 // W_Q, then W_K: [d, d] each, the input's channel first
	mul, add      []float64 // u and a, v and b, of each head
	leak          []float64 // W_C: [d, heads]
	value, out    []float64 // [d, d]
	first, second []float64 // [d, 4d], and [4d]: the column of W_2 that f reads
}

// What the draws of this study are for.
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
	pseudoPart
)

func newSmallLayer(r draws, k PseudoconvexityCase, tokens, width int) *smallLayer {
	n, d, h := tokens, width, k.Heads
	l := &smallLayer{n: n, d: d, heads: h, score: k.Score, feedForward: k.FeedForward}
	in := 1 / math.Sqrt(float64(d))
	draw := func(what uint32, size int, deviation float64) []float64 {
		x := make([]float64, size)
		r.normals(what, x, deviation)
		return x
	}
	l.x, l.relation = draw(pseudoTokens, n*d, 1), draw(pseudoRelation, n*n, 1)
	l.queryKey = draw(pseudoQueryKey, 2*d*d, in)
	l.mul, l.add = draw(pseudoMul, 2*h, 1), draw(pseudoAdd, 2*h, 1)
	l.leak = draw(pseudoLeak, d*h, in)
	l.value, l.out = draw(pseudoValue, d*d, in), draw(pseudoOut, d*d, in)
	l.first, l.second = draw(pseudoFirst, 4*d*d, in), draw(pseudoSecond, 4*d, in/2)
	return l
}

// block is what a case draws: changing it changes the layer.
func (l *smallLayer) block(name string) []float64 {
	return map[string][]float64{BlockQueryKey: l.queryKey, BlockMul: l.mul, BlockAdd: l.add, BlockLeak: l.leak}[name]
}

// deviation is that of the weights of a block.
func (l *smallLayer) deviation(name string) float64 {
	if name == BlockMul || name == BlockAdd {
		return 1
	}
	return 1 / math.Sqrt(float64(l.d))
}

// smallPass is what a forward leaves for the gradient.
type smallPass struct {
	f    float64
	q, k []float64 // of the first token [d], and of all [n, d]
	m, a []float64 // scores and A of the first token: [heads, n]
	mul  []float64 // u·E + a of the same
	c    []float64 // C: [n, heads]
	v    []float64 // [n, d]
	s    []float64 // the denominators: [heads]
	o    []float64 // the attention's output before W_O: [d]
	h    []float64 // W_1 Y: [4d]
}

// times is x·W of rows of x.
func times(x, w []float64, in, out int) []float64 {
	rows := len(x) / in
	y := make([]float64, rows*out)
	for i := range rows {
		for c, v := range x[i*in : (i+1)*in] {
			for o, u := range w[c*out : (c+1)*out] {
				y[i*out+o] += v * u
			}
		}
	}
	return y
}

// scores computes the scores of the first token, and what they are made of.
func (l *smallLayer) scores() *smallPass {
	n, d, dh := l.n, l.d, l.d/l.heads
	p := &smallPass{q: times(l.x[:d], l.queryKey[:d*d], d, d), k: times(l.x, l.queryKey[d*d:], d, d),
		m: make([]float64, l.heads*n), a: make([]float64, l.heads*n), mul: make([]float64, l.heads*n)}
	for h := range l.heads {
		for j := range n {
			at, e := h*n+j, l.relation[j]
			for c := h * dh; c < (h+1)*dh; c++ {
				if l.score == Dot {
					p.m[at] += p.q[c] * p.k[j*d+c]
				} else {
					p.m[at] += max(p.q[c], p.k[j*d+c])
				}
			}
			p.m[at] /= math.Sqrt(float64(dh))
			p.mul[at] = l.mul[2*h]*e + l.mul[2*h+1]
			p.a[at] = p.m[at]*softplus(p.mul[at]) + l.add[2*h]*e + l.add[2*h+1]
		}
	}
	return p
}

// forward computes f, an entry of the first token's row: other rows have the same form.
func (l *smallLayer) forward() *smallPass {
	n, d, dh := l.n, l.d, l.d/l.heads
	p := l.scores()
	p.c, p.v = times(l.x, l.leak, d, l.heads), times(l.x, l.value, d, d)
	p.s, p.o = make([]float64, l.heads), make([]float64, d)
	for h := range l.heads {
		p.s[h] = probabilityEpsilon
		for j := range n {
			p.s[h] += softplus(p.c[j*l.heads+h]) + max(p.a[h*n+j], 0)
		}
		for j := range n {
			for c := h * dh; c < (h+1)*dh; c++ {
				p.o[c] += max(p.a[h*n+j], 0) / p.s[h] * p.v[j*d+c]
			}
		}
	}
	y := times(p.o, l.out, d, d)
	for c := range y {
		y[c] += l.x[c]
	}
	p.h = times(y, l.first, d, 4*d)
	p.f = p.h[0]
	if l.feedForward {
		p.f = y[0]
		for i, v := range p.h {
			p.f += l.second[i] * gelu(v)
		}
	}
	return p
}

// gradient is f, and its gradient by a block.
func (l *smallLayer) gradient(block string) (f float64, out []float64) {
	n, d, dh := l.n, l.d, l.d/l.heads
	p := l.forward()
	dy := make([]float64, d)
	dh1 := make([]float64, 4*d)
	dh1[0] = 1
	if l.feedForward {
		for i, v := range p.h {
			dh1[i] = l.second[i] * geluSlope(v)
		}
		dy[0] = 1
	}
	for c := range dy {
		dy[c] += dot(l.first[c*4*d:(c+1)*4*d], dh1)
	}
	do := make([]float64, d)
	for c := range do {
		do[c] = dot(l.out[c*d:(c+1)*d], dy)
	}
	out = make([]float64, len(l.block(block)))
	for h := range l.heads {
		head := func(x []float64) []float64 { return x[h*dh : (h+1)*dh] }
		mean := dot(head(do), head(p.o)) // Σ_j P_ij·dP_ij
		for j := range n {
			if block == BlockLeak { // every key's leak is in the denominator
				g := -mean / p.s[h] * sigmoid(p.c[j*l.heads+h])
				for c := range d {
					out[c*l.heads+h] += g * l.x[j*d+c]
				}
				continue
			}
			at, e := h*n+j, l.relation[j]
			if p.a[at] <= 0 {
				continue
			}
			g := (dot(head(do), head(p.v[j*d:(j+1)*d])) - mean) / p.s[h] // of A_ij
			switch block {
			case BlockMul:
				g *= p.m[at] * sigmoid(p.mul[at])
				out[2*h] += g * e
				out[2*h+1] += g
			case BlockAdd:
				out[2*h] += g * e
				out[2*h+1] += g
			case BlockQueryKey:
				g *= softplus(p.mul[at]) / math.Sqrt(float64(dh))
				for c := h * dh; c < (h+1)*dh; c++ {
					dq, dk := g, 0.0
					if l.score == Dot {
						dq, dk = g*p.k[j*d+c], g*p.q[c]
					} else if p.q[c] < p.k[j*d+c] {
						dq, dk = 0, g
					}
					for i := range d {
						out[i*d+c] += dq * l.x[i]
						out[d*d+i*d+c] += dk * l.x[j*d+i]
					}
				}
			}
		}
	}
	return p.f, out
}

// sides are the signs that tell one orthant from others: those of q − k, which say what each
// maximum is, and those of A.
func (l *smallLayer) sides() (out []bool) {
	p := l.scores()
	for _, a := range p.a {
		out = append(out, a > 0)
	}
	for at, k := range p.k {
		if l.score == Maxout {
			out = append(out, p.q[at%l.d] >= k)
		}
	}
	return out
}

// within is the largest part of the way to other weights, up to 1, on which no side changes.
// On the way q and k are affine, and with them A of maxout, while A of R_mul is monotone: there
// it is enough to look at the end. A of dot is quadratic in the part, and may change and come
// back: there the way is looked at in steps.
func (l *smallLayer) within(block string, to []float64) float64 {
	w := l.block(block)
	from := append([]float64(nil), w...)
	defer copy(w, from)
	begin := l.sides()
	same := func(part float64) bool {
		for i, v := range to {
			w[i] = from[i] + part*(v-from[i])
		}
		for i, s := range l.sides() {
			if s != begin[i] {
				return false
			}
		}
		return true
	}
	const steps, halvings = 32, 20
	low, high := 0.0, 1.0
	if l.score == Dot {
		for i := 1; i <= steps; i++ {
			if high = float64(i) / steps; !same(high) {
				break
			}
			low = high
		}
	} else if same(1) {
		return 1
	}
	for range halvings {
		if low == high {
			break
		}
		if middle := (low + high) / 2; same(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
