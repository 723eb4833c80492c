package main

import (
	"context"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/sftseq/sftseq/internal/chart"
)

var rankStudy = &study{
	name:    "rank",
	summary: "whether layers with random weights distinguish identical tokens",
	help: `Begins with the same vector for every token and applies layers with random weights, in
float64, for each probability function. After each layer it computes three ranks of the
matrix of all tokens: with the tolerance of float32, as in the paper, with a tenth of this
tolerance, and the effective rank, which needs no tolerance. The paper's size, --layers 100 --draws 30,
takes more than an hour on one core.`,
	columns: []string{"probability", "layer", "rank", "rank, tolerance/10", "effective rank"},
	prepare: func(f *flags) measurement {
		m := &rankMeasurement{probabilities: []string{leakyReLU, relu, softmax}}
		f.intFlag(&m.tokens, "tokens", 256, 1, 1<<14, "tokens")
		f.intFlag(&m.width, "width", 512, 1, 1<<14, "channels of a token")
		f.intFlag(&m.layers, "layers", 20, 1, 1<<14, "layers")
		f.intFlag(&m.draws, "draws", 2, 1, 1<<14, "draws of all weights")
		f.drawFlags(&m.seed, &m.threads)
		return m.report
	},
}

func (r *rankMeasurement) report(ctx context.Context, out *report) error {
	points, err := r.run(ctx, out.progress(len(r.probabilities)*r.draws*r.layers, "layers"))
	if err != nil {
		return err
	}
	layer := chart.Axis{Label: "layer"}
	ranks, entropies := newChart("Rank with the tolerance of float32", layer, chart.Axis{Label: "rank", Zero: true}),
		newChart("Effective rank", layer, chart.Axis{Label: "rank"})
	for n := range r.probabilities {
		var layers []int
		var rank, entropy []spread
		for _, p := range points[n*r.layers : (n+1)*r.layers] {
			var row []string
			if shownLayer(p.Layer, r.layers) {
				row = []string{p.Probability, strconv.Itoa(p.Layer), p.Single.text("%.3g"),
					p.Tenth.text("%.3g"), p.Entropy.text("%.4f")}
			}
			out.add(p, row...)
			layers, rank, entropy = append(layers, p.Layer), append(rank, p.Single), append(entropy, p.Entropy)
		}
		addBand(&ranks, n, r.probabilities[n], layers, rank)
		addBand(&entropies, n, r.probabilities[n], layers, entropy)
	}
	out.title, out.charts = "Rank of identical tokens after random layers", []chart.Chart{ranks, entropies}
	out.note(`The paper (Figs. 3 and 8) plots a rank that "gradually gains" with the leaky probability and
is "still small" after 1 to 20 layers.`)
	out.note("The paper: 256 tokens, width 512, 100 layers, 30 draws, float32. Here: %d tokens, width %d, %d layers, draws %d, float64.", r.tokens, r.width, r.layers, r.draws)
	return nil
}

// shownLayer reports whether the table has a row for a layer.
func shownLayer(layer, layers int) bool {
	return layers <= 12 || layer == layers || slices.Contains([]int{1, 2, 3, 5}, layer) || layer%10 == 0
}

// Probability functions of attention. The paper uses leakyReLU.
const (
	leakyReLU = "leaky_relu"
	relu      = "relu"
	softmax   = "softmax"
)

// rankMeasurement measures whether layers with random weights distinguish identical tokens. All
// tokens are the same N(0, 1) vector. A relation matrix R ~ N(0, 1), shared by all layers and
// draws, enters each layer through two linear layers 1→1. With one head, and every token as a key,
//
//	A_ij = Σ_c max(q_ic, k_jc)/√d · softplus(u·R_ij) + v·R_ij
//	x ← LN(x + P V W_O),  x ← LN(x + W_2 GELU(W_1 x))
//
// where P is, row by row, ReLU(A) divided by its sum (relu), ReLU(A) divided by its sum plus
// Σ_r softplus(x_r W_C) (leaky_relu), or softmax(A). Weights are drawn from N(0, 1/in), biases are 0,
// and the MLP has 4d channels.
type rankMeasurement struct {
	seed                         uint64
	tokens, width, layers, draws int
	probabilities                []string

	threads int // does not affect the results
}

// rankPoint is the result for the tokens after a layer, over all draws.
type rankPoint struct {
	Probability string `json:"probability"`
	Layer       int    `json:"layer"`        // from 1
	Single      spread `json:"rank"`         // with the tolerance of float32, as in the paper
	Tenth       spread `json:"rank_tenth"`   // with a tenth of that tolerance
	Entropy     spread `json:"entropy_rank"` // effective rank
	Draws       int    `json:"draws"`
	Tokens      int    `json:"tokens"`
	Width       int    `json:"width"`
	Seed        uint64 `json:"seed"`
}

// run measures every probability function. It calls progress after each layer.
func (r *rankMeasurement) run(ctx context.Context, progress func(n int)) (out []rankPoint, err error) {
	relation := draws{seed: r.seed}.matrix(rankRelation, r.tokens, r.tokens, 1)
	for _, probability := range r.probabilities {
		spectra := make([][]spectrum, r.layers)
		for l := range spectra {
			spectra[l] = make([]spectrum, r.draws)
		}
		err := forEach(ctx, r.draws, r.threads, func(ctx context.Context, i int) (err error) {
			d := draws{seed: r.seed, example: uint32(i)}
			x := identicalTokens(d, r.tokens, r.width)
			for l := range spectra {
				if err := ctx.Err(); err != nil {
					return err
				}
				d.step = uint32(l + 1)
				x = randomLayer(d, x, relation, probability)
				if spectra[l][i], err = newSpectrum(x); err != nil {
					return err
				}
				progress(1)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		for l, s := range spectra {
			var single, tenth, entropy []float64
			for _, s := range s {
				single, tenth = append(single, float64(s.rank(epsilon32))),
					append(tenth, float64(s.rank(epsilon32/10)))
				entropy = append(entropy, s.effectiveRank())
			}
			out = append(out, rankPoint{probability, l + 1, newSpread(single), newSpread(tenth), newSpread(entropy),
				r.draws, r.tokens, r.width, r.seed})
		}
	}
	return out, nil
}

// Random streams of this study.
const (
	rankRelation uint32 = iota
	rankToken
	rankQuery
	rankKey
	rankValue
	rankLeak
	rankOut
	rankMul
	rankAdd
	rankMLP1
	rankMLP2
)

func identicalTokens(d draws, tokens, width int) *mat.Dense {
	x := make([]float64, width)
	d.normals(rankToken, x, 1)
	out := mat.NewDense(tokens, width, nil)
	for i := range tokens {
		out.SetRow(i, x)
	}
	return out
}

// randomLayer applies one layer with random weights to x.
func randomLayer(r draws, x, relation *mat.Dense, probability string) *mat.Dense {
	n, d := x.Dims()
	linear := func(stream uint32, x *mat.Dense, out int) *mat.Dense {
		_, in := x.Dims()
		var y mat.Dense
		y.Mul(x, r.matrix(stream, in, out, 1/math.Sqrt(float64(in))))
		return &y
	}
	q, k := linear(rankQuery, x, d), linear(rankKey, x, d)
	u, v := r.matrix(rankMul, 1, 1, 1).At(0, 0), r.matrix(rankAdd, 1, 1, 1).At(0, 0)
	p := mat.NewDense(n, n, nil)
	for i := range n {
		row := p.RawRowView(i)
		for j := range row {
			e := relation.At(i, j)
			row[j] = maxout(q.RawRowView(i), k.RawRowView(j))/math.Sqrt(float64(d))*softplus(u*e) + v*e
		}
	}
	leak := 0.0
	if probability == leakyReLU {
		c := linear(rankLeak, x, 1)
		for j := range n {
			leak += softplus(c.At(j, 0))
		}
	}
	for i := range n {
		normalise(p.RawRowView(i), probability, leak)
	}
	var o mat.Dense
	o.Mul(p, linear(rankValue, x, d))
	y := linear(rankOut, &o, d)
	y.Add(y, x)
	layerNorm(y)
	h := linear(rankMLP1, y, 4*d)
	h.Apply(func(_, _ int, v float64) float64 { return gelu(v) }, h)
	z := linear(rankMLP2, h, d)
	z.Add(z, y)
	layerNorm(z)
	return z
}

// maxout returns the paper's score Σ_c max(q_c, k_c), without the factor 1/√d.
func maxout(q, k []float64) (sum float64) {
	for c, v := range q {
		sum += max(v, k[c])
	}
	return sum
}

func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func gelu(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) }

// probabilityEpsilon is added to the denominators of the probabilities leakyReLU and relu.
const probabilityEpsilon = 1e-9

// normalise replaces a row of scores by probabilities.
func normalise(a []float64, probability string, leak float64) {
	sum := leak + probabilityEpsilon
	if probability == softmax {
		maxScore := a[0]
		for _, v := range a {
			maxScore = max(maxScore, v)
		}
		sum = 0
		for j, v := range a {
			a[j] = math.Exp(v - maxScore)
			sum += a[j]
		}
	} else {
		for j, v := range a {
			a[j] = max(v, 0)
			sum += a[j]
		}
	}
	for j := range a {
		a[j] /= sum
	}
}

// layerNorm normalises each row to mean 0 and variance 1.
func layerNorm(x *mat.Dense) {
	const epsilon = 1e-5
	n, d := x.Dims()
	for i := range n {
		row := x.RawRowView(i)
		mean, variance := 0.0, 0.0
		for _, v := range row {
			mean += v / float64(d)
		}
		for _, v := range row {
			variance += (v - mean) * (v - mean) / float64(d)
		}
		for c, v := range row {
			row[c] = (v - mean) / math.Sqrt(variance+epsilon)
		}
	}
}
