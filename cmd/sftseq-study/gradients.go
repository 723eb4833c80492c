package main

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/sftseq/sftseq/internal/chart"
)

var gradientsStudy = &study{
	name:    "gradients",
	summary: "how gradients grow with the number of tokens",
	help: `Computes the squared norms of the gradients of attention with respect to W_V and W_Q in float64
for random weights and tokens, in the paper's simplest case (query and key of a token are
scalars, the leak is a constant), and fits a line to their logarithms.`,
	columns: []string{"tokens", "‖∂Sa/∂W_V‖²", "‖∂Sa/∂W_Q‖²"},
	prepare: func(f *flags) measurement {
		g := &gradients{leak: 1}
		f.intListFlag(&g.sizes, "tokens", []int{64, 128, 256, 512, 1024, 2048, 4096}, 1, 1<<24, "numbers of tokens")
		f.intFlag(&g.width, "width", 16, 1, 4096, "channels of a token")
		f.intFlag(&g.draws, "draws", 10, 1, 1<<20, "draws for each number of tokens")
		f.drawFlags(&g.seed, &g.threads)
		return g.report
	},
}

func (g *gradients) report(ctx context.Context, r *report) error {
	if len(g.sizes) < 2 {
		return usagef("--tokens: a slope needs at least two numbers")
	}
	pairs := 0
	for _, size := range g.sizes {
		pairs += g.draws * size * size
	}
	points, err := g.run(ctx, r.progress(pairs, "pairs of tokens"))
	if err != nil {
		return err
	}
	var values, queries []spread
	for _, p := range points {
		r.add(p, strconv.Itoa(p.Tokens), p.Value.text("%.4g"), p.Query.text("%.4g"))
		values, queries = append(values, p.Value), append(queries, p.Query)
	}
	value, query := slopes(points)
	figure := newChart("", chart.Axis{Label: "tokens", Logarithmic: true},
		chart.Axis{Label: "squared norm", Logarithmic: true})
	addBand(&figure, 0, fmt.Sprintf("W_V, slope %.2f", value), g.sizes, values)
	addBand(&figure, 1, fmt.Sprintf("W_Q, slope %.2f", query), g.sizes, queries)
	r.title, r.charts = "Squared norm of the gradient of attention", []chart.Chart{figure}
	r.note("slope of log squared norm over log tokens: W_V %.2f, W_Q %.2f", value, query)
	r.note(`The paper's theorem states Θ(n) for W_V, slope 1, and Θ(1) for W_Q, slope 0. Its proof for W_Q
omits the products of different tokens.`)
	r.note("The paper reports no numbers: the sizes, width, leak and draws are this study's choice.")
	return nil
}

// gradients measures how the gradient of attention grows with the number of tokens n. The attention is
//
//	Sa_i = Σ_j R_ij·X_j·W_V + α·X_i,  R_ij = ReLU(A_ij) / s_i,  s_i = Σ_l ReLU(A_il) + c
//
// where A_ij = max(q_i, k_j), and the query q_i = X_i·W_Q and the key k_i = X_i·W_K of a token are scalars.
// The residual connection α·X_i does not affect the gradients:
//
//	‖∂Sa/∂W_V‖² = d·Σ_i ‖R_i X‖²
//	‖∂Sa/∂W_Q‖² = Σ_i ‖X_i‖²·‖W_Vᵀ Xᵀ Z_i‖²,  Z_ij = (g_ij − R_ij·Σ_l g_il) / s_i,
//
// with g_ij = 1 where q_i ≥ k_j and A_ij > 0, and 0 elsewhere. Weights are drawn from N(0, 2/d),
// rows of X from N(0, 1/d). The paper's theorem states Θ(n) and Θ(1).
type gradients struct {
	seed  uint64
	sizes []int   // numbers of tokens
	width int     // d
	leak  float64 // c
	draws int

	threads int // does not affect the results
}

// gradientPoint is the result for one number of tokens over all draws.
type gradientPoint struct {
	Tokens int     `json:"tokens"`
	Value  spread  `json:"value"` // ‖∂Sa/∂W_V‖²
	Query  spread  `json:"query"` // ‖∂Sa/∂W_Q‖²
	Draws  int     `json:"draws"`
	Width  int     `json:"width"`
	Leak   float64 `json:"leak"`
	Seed   uint64  `json:"seed"`
}

// run measures the gradients for each number of tokens. It reports progress in pairs of tokens.
func (g *gradients) run(ctx context.Context, progress func(n int)) ([]gradientPoint, error) {
	var out []gradientPoint
	for _, n := range g.sizes {
		value, query := make([]float64, g.draws), make([]float64, g.draws)
		err := forEach(ctx, g.draws, g.threads, func(ctx context.Context, i int) (err error) {
			a := newScalarAttention(draws{g.seed, uint32(i), uint32(n)}, n, g.width, g.leak)
			value[i], query[i], err = a.gradientNorms(ctx, progress)
			return err
		})
		if err != nil {
			return nil, err
		}
		out = append(out, gradientPoint{n, newSpread(value), newSpread(query), g.draws, g.width, g.leak, g.seed})
	}
	return out, nil
}

// slopes returns the slopes of the logarithms of the two squared norms over log n.
func slopes(points []gradientPoint) (value, query float64) {
	var n, v, q []float64
	for _, p := range points {
		n, v, q = append(n, math.Log(float64(p.Tokens))), append(v, math.Log(p.Value.Mean)),
			append(q, math.Log(p.Query.Mean))
	}
	return slope(n, v), slope(n, q)
}

// slope returns the slope of the least-squares line through the points.
func slope(x, y []float64) float64 {
	mx, my := newSpread(x).Mean, newSpread(y).Mean
	var xy, xx float64
	for i := range x {
		xy += (x[i] - mx) * (y[i] - my)
		xx += (x[i] - mx) * (x[i] - mx)
	}
	return xy / xx
}

// Random streams of this study.
const (
	gradientTokens uint32 = iota
	gradientQuery
	gradientKey
	gradientValue
)

// scalarAttention is attention with scalar queries and keys.
type scalarAttention struct {
	n, d   int
	leak   float64
	x      []float64 // [n, d]
	wq, wk []float64 // [d]
	wv     []float64 // [d, d], input channels first
}

func newScalarAttention(r draws, n, d int, leak float64) *scalarAttention {
	a := &scalarAttention{n: n, d: d, leak: leak, x: make([]float64, n*d), wq: make([]float64, d),
		wk: make([]float64, d), wv: make([]float64, d*d)}
	r.normals(gradientTokens, a.x, math.Sqrt(1/float64(d)))
	r.normals(gradientQuery, a.wq, math.Sqrt(2/float64(d)))
	r.normals(gradientKey, a.wk, math.Sqrt(2/float64(d)))
	r.normals(gradientValue, a.wv, math.Sqrt(2/float64(d)))
	return a
}

// token returns X_i.
func (a *scalarAttention) token(i int) []float64 { return a.x[i*a.d : (i+1)*a.d] }

func dot(x, y []float64) (sum float64) {
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

// gradientNorms returns ‖∂Sa/∂W_V‖² and ‖∂Sa/∂W_Q‖² in O(n) memory.
func (a *scalarAttention) gradientNorms(ctx context.Context, progress func(n int)) (value, query float64, err error) {
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
		// Accumulate Σ_j ReLU(A_ij)·X_j, Σ_j g_ij·X_j, the denominator s_i, and Σ_j g_ij.
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
		progress(a.n)
	}
	return value, query, nil
}
