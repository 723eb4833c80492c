package conformance

import (
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
)

// score64 computes the score of a query and a key.
func score64(kind tensor.Score, q, k []float64) (m float64) {
	for c := range q {
		switch kind {
		case tensor.Maxout:
			m += max(q[c], k[c])
		case tensor.MaxoutStandardized:
			m += (max(q[c], k[c]) - 1/math.Sqrt(math.Pi)) / math.Sqrt(1-1/math.Pi)
		case tensor.Lily:
			m += math.Abs(q[c]+k[c]) - math.Abs(q[c]-k[c])
		case tensor.Dot:
			m += q[c] * k[c]
		}
	}
	return m
}

// scoreBackward64 adds dm times the derivatives of the score to dq and dk.
func scoreBackward64(kind tensor.Score, dm float64, q, k, dq, dk []float64) {
	sign := func(x float64) float64 {
		if x == 0 {
			return 0
		}
		return math.Copysign(1, x)
	}
	for c := range q {
		switch kind {
		case tensor.Maxout, tensor.MaxoutStandardized:
			scale := 1.0
			if kind == tensor.MaxoutStandardized {
				scale = 1 / math.Sqrt(1-1/math.Pi)
			}
			if q[c] >= k[c] {
				dq[c] += dm * scale
			} else {
				dk[c] += dm * scale
			}
		case tensor.Lily:
			dq[c] += dm * (sign(q[c]+k[c]) - sign(q[c]-k[c]))
			dk[c] += dm * (sign(q[c]+k[c]) + sign(q[c]-k[c]))
		case tensor.Dot:
			dq[c] += dm * k[c]
			dk[c] += dm * q[c]
		}
	}
}

// attention64 is sampled attention over packed sequences, in float64.
type attention64 struct {
	fixture       *fixture
	sel           selection
	heads, dh     int
	score         tensor.Score
	probability   tensor.Probability
	relation      relation64
	q, k, v, leak []float64
	dq, dk, dv    []float64
	dleak         []float64
}

// part returns the channels of a head in row i.
func (a *attention64) part(x []float64, i, head int) []float64 {
	return x[(i*a.heads+head)*a.dh:][:a.dh]
}

// keys returns the indices of the sampled rows that sequence b uses.
func (a *attention64) keys(b int) []int {
	var js []int
	for j := range a.sel.count[b] {
		js = append(js, a.fixture.sampled[b]+j)
	}
	return js
}

// row returns the scores A and the probabilities P of a token and head, and the row's norm: the
// denominator, or its logarithm for softmax.
func (a *attention64) row(b, i, head int) (s, p []float64, norm float64) {
	keys := a.keys(b)
	for _, j := range keys {
		mul, add := a.relation.terms(head, i-a.fixture.offset[b], j)
		m := score64(a.score, a.part(a.q, i, head), a.part(a.k, j, head))
		s = append(s, m/math.Sqrt(float64(a.dh))*mul+add)
	}
	if a.probability == tensor.Softmax {
		top := math.Inf(-1)
		for _, v := range s {
			top = max(top, v)
		}
		var sum float64
		for _, v := range s {
			sum += math.Exp(v - top)
		}
		norm = top + math.Log(sum)
		for _, v := range s {
			p = append(p, math.Exp(v-norm))
		}
		return s, p, norm
	}
	norm = tensor.AttentionEpsilon
	if a.probability == tensor.LeakyReLU {
		norm += a.leak[b*a.heads+head]
	}
	for _, v := range s {
		norm += max(v, 0)
	}
	for _, v := range s {
		p = append(p, max(v, 0)/norm)
	}
	return s, p, norm
}

// forward returns the output, the norms and the number of dead attention rows. nearKink lists the
// tokens with results that are sensitive to rounding: a score is close to ReLU's kink, or a row of
// ReLU or leaky ReLU with a positive score has a small denominator.
func (a *attention64) forward() (o, norm []float64, deadRows int, nearKink []int) {
	o = zeros(len(a.q))
	for b := range a.fixture.shape.lengths {
		for i := a.fixture.offset[b]; i < a.fixture.offset[b+1]; i++ {
			for head := range a.heads {
				s, p, n := a.row(b, i, head)
				norm = append(norm, n)
				positive, close := false, false
				for at, j := range a.keys(b) {
					positive = positive || s[at] > 0
					close = close || math.Abs(s[at]) < margin
					for c, v := range a.part(a.v, j, head) {
						a.part(o, i, head)[c] += p[at] * v
					}
				}
				switch {
				case !positive:
					deadRows++
				case a.probability != tensor.Softmax:
					close = close || n < minSum
				}
				if close {
					nearKink = append(nearKink, i)
				}
			}
		}
	}
	return o, norm, deadRows, nearKink
}

// backward computes the gradients. For ReLU and leaky ReLU, dA follows from dP by the quotient rule: with
// the denominator S, ∂P_j/∂A_l = [A_l > 0]·(δ_jl − P_j)/S.
func (a *attention64) backward(do []float64) {
	a.dq, a.dk, a.dv, a.dleak = zeros(len(a.q)), zeros(len(a.k)), zeros(len(a.v)), zeros(len(a.leak))
	for b := range a.fixture.shape.lengths {
		for i := a.fixture.offset[b]; i < a.fixture.offset[b+1]; i++ {
			for head := range a.heads {
				a.rowBackward(b, i, head, a.part(do, i, head))
			}
		}
	}
}

func (a *attention64) rowBackward(b, i, head int, do []float64) {
	s, p, norm := a.row(b, i, head)
	keys := a.keys(b)
	dp, mean := make([]float64, len(keys)), 0.0
	for at, j := range keys {
		dp[at] = product(do, a.part(a.v, j, head))
		mean += p[at] * dp[at]
		for c, g := range do {
			a.part(a.dv, j, head)[c] += p[at] * g
		}
	}
	if a.probability == tensor.LeakyReLU {
		a.dleak[b*a.heads+head] -= mean / norm
	}
	for at, j := range keys {
		ds := p[at] * (dp[at] - mean)
		if a.probability != tensor.Softmax {
			ds = 0
			if s[at] > 0 {
				ds = (dp[at] - mean) / norm
			}
		}
		q, k := a.part(a.q, i, head), a.part(a.k, j, head)
		position, root := i-a.fixture.offset[b], math.Sqrt(float64(a.dh))
		mul, _ := a.relation.terms(head, position, j)
		a.relation.adjoint(head, position, j, ds*score64(a.score, q, k)/root, ds)
		scoreBackward64(a.score, ds*mul/root, q, k, a.part(a.dq, i, head), a.part(a.dk, j, head))
	}
}
