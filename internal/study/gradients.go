package study

import (
	"context"
	"math"
	"slices"
)

// Gradients asks how the gradient of attention grows with the number of tokens n. With
//
//	Sa_i = Σ_j R_ij·X_j·W_V + α·X_i,  R_ij = ReLU(A_ij) / s_i,  s_i = Σ_l ReLU(A_il) + c
//
// where A_ij = max(q_i, k_j), q = X·W_Q and k = X·W_K are scalars of each token, it is
//
//	‖∂Sa/∂W_V‖² = d·Σ_i ‖R_i X‖²
//	‖∂Sa/∂W_Q‖² = Σ_i ‖X_i‖²·‖W_Vᵀ Xᵀ Z_i‖²,  Z_ij = (g_ij − R_ij·Σ_l g_il) / s_i,
//
// with g_ij = 1 where q_i ≥ k_j and A_ij > 0, and 0 elsewhere. Weights are N(0, 2/d), rows
// of X N(0, 1/d). The paper's theorem says Θ(n) and Θ(1).
type Gradients struct {
	Seed  uint64
	Sizes []int // numbers of tokens
	Width int   // d
	Leak  float64
	Draws int

	Threads int // which change no result
}

// GradientPoint is what one number of tokens has, over all draws.
type GradientPoint struct {
	Tokens   int     `json:"tokens"`
	Value    Spread  `json:"value"` // ‖∂Sa/∂W_V‖²
	Query    Spread  `json:"query"` // ‖∂Sa/∂W_Q‖²
	Draws    int     `json:"draws"`
	Width    int     `json:"width"`
	Constant float64 `json:"leak"`
	Seed     uint64  `json:"seed"`
}

// Spread is the mean of several values, and their ends.
type Spread struct {
	Mean float64 `json:"mean"`
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
}

// SpreadOf summarises at least one value. One division of the sum leaves the mean of equal whole
// numbers what they are.
func SpreadOf(values []float64) Spread {
	s := Spread{Min: slices.Min(values), Max: slices.Max(values)}
	for _, v := range values {
		s.Mean += v
	}
	s.Mean /= float64(len(values))
	return s
}

// Work is how many steps Run tells of: one for each pair of tokens.
func (g *Gradients) Work() (n int) {
	for _, size := range g.Sizes {
		n += g.Draws * size * size
	}
	return n
}

// Run measures every size.
func (g *Gradients) Run(ctx context.Context, progress Progress) ([]GradientPoint, error) {
	var out []GradientPoint
	for _, n := range g.Sizes {
		value, query := make([]float64, g.Draws), make([]float64, g.Draws)
		err := each(ctx, g.Draws, g.Threads, func(ctx context.Context, i int) (err error) {
			a := newScalarAttention(draws{g.Seed, uint32(i), uint32(n)}, n, g.Width, g.Leak)
			value[i], query[i], err = a.gradientNorms(ctx, progress)
			return err
		})
		if err != nil {
			return nil, err
		}
		out = append(out, GradientPoint{n, SpreadOf(value), SpreadOf(query), g.Draws, g.Width, g.Leak, g.Seed})
	}
	return out, nil
}

// Slopes are those of the two squared norms over n, both in logarithms.
func Slopes(points []GradientPoint) (value, query float64) {
	var n, v, q []float64
	for _, p := range points {
		n, v, q = append(n, math.Log(float64(p.Tokens))), append(v, math.Log(p.Value.Mean)), append(q, math.Log(p.Query.Mean))
	}
	return slope(n, v), slope(n, q)
}

// slope is that of the line of least squares.
func slope(x, y []float64) float64 {
	mx, my := SpreadOf(x).Mean, SpreadOf(y).Mean
	var xy, xx float64
	for i := range x {
		xy += (x[i] - mx) * (y[i] - my)
		xx += (x[i] - mx) * (x[i] - mx)
	}
	return xy / xx
}

// What the draws of this study are for.
const (
	gradientTokens uint32 = iota
	gradientQuery
	gradientKey
	gradientValue
)

// scalarAttention is attention whose queries and keys are numbers.
type scalarAttention struct {
	n, d   int
	leak   float64
	x      []float64 // [n, d]
	wq, wk []float64 // [d]
	wv     []float64 // [d, d], the input's channel first
}

func newScalarAttention(r draws, n, d int, leak float64) *scalarAttention {
	a := &scalarAttention{n: n, d: d, leak: leak, x: make([]float64, n*d), wq: make([]float64, d), wk: make([]float64, d), wv: make([]float64, d*d)}
	r.normals(gradientTokens, a.x, math.Sqrt(1/float64(d)))
	r.normals(gradientQuery, a.wq, math.Sqrt(2/float64(d)))
	r.normals(gradientKey, a.wk, math.Sqrt(2/float64(d)))
	r.normals(gradientValue, a.wv, math.Sqrt(2/float64(d)))
	return a
}

// token is X_i.
func (a *scalarAttention) token(i int) []float64 { return a.x[i*a.d : (i+1)*a.d] }

func dot(x, y []float64) (sum float64) {
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

// gradientNorms are ‖∂Sa/∂W_V‖² and ‖∂Sa/∂W_Q‖². Nothing of the size n × n is kept.
func (a *scalarAttention) gradientNorms(ctx context.Context, progress Progress) (value, query float64, err error) {
	keys := make([]float64, a.n)
	for j := range keys {
		keys[j] = dot(a.token(j), a.wk)
	}
	mixed, gated, column := make([]float64, a.d), make([]float64, a.d), make([]float64, a.d)
	for i := range a.n {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		x := a.token(i)
		q := dot(x, a.wq)
		// Σ_j ReLU(A_ij)·X_j, Σ_j g_ij·X_j, and what these are divided by.
		clear(mixed)
		clear(gated)
		s, gates := a.leak, 0.0
		for j, k := range keys {
			score := max(q, k)
			if score <= 0 {
				continue
			}
			s += score
			for c, v := range a.token(j) {
				mixed[c] += score * v
			}
			if q >= k {
				gates++
				for c, v := range a.token(j) {
					gated[c] += v
				}
			}
		}
		for c := range mixed {
			mixed[c] /= s                              // R_i X
			gated[c] = (gated[c] - gates*mixed[c]) / s // Xᵀ Z_i
		}
		value += float64(a.d) * dot(mixed, mixed)
		clear(column)
		for c, v := range gated {
			for o := range column {
				column[o] += v * a.wv[c*a.d+o]
			}
		}
		query += dot(x, x) * dot(column, column)
		progress.tell(a.n)
	}
	return value, query, nil
}
