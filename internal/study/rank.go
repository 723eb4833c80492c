package study

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Probabilities that attention may have in the studies, the paper's first.
const (
	LeakyReLU = "leaky_relu"
	ReLU      = "relu"
	Softmax   = "softmax"
)

// Rank asks whether layers with random weights tell identical tokens apart. All tokens are
// the same N(0, 1) vector. A relation matrix R ~ N(0, 1), which all layers and draws share,
// enters each layer through two linear layers 1→1. With one head and every token a key,
//
//	A_ij = Σ_c max(q_ic, k_jc)/√d · softplus(u·R_ij) + v·R_ij
//	x ← LN(x + P V W_O),  x ← LN(x + W_2 GELU(W_1 x))
//
// where P is ReLU(A) over its sum (relu), over its sum and Σ_r softplus(C_r) (leaky_relu), or
// softmax. Weights are N(0, 1/in), biases 0, and the MLP has 4d channels.
type Rank struct {
	Seed                         uint64
	Tokens, Width, Layers, Draws int
	Probabilities                []string

	Threads int // which change no result
}

// RankPoint is what the tokens are after a layer, over all draws.
type RankPoint struct {
	Probability string `json:"probability"`
	Layer       int    `json:"layer"`      // from 1
	Single      Spread `json:"rank"`       // by the precision of float32, as the paper has it
	Tenth       Spread `json:"rank_tenth"` // by a tenth of that tolerance
	Entropy     Spread `json:"entropy_rank"`
	Draws       int    `json:"draws"`
	Tokens      int    `json:"tokens"`
	Width       int    `json:"width"`
	Seed        uint64 `json:"seed"`
}

// Work is how many steps Run tells of: one for each layer.
func (r *Rank) Work() int { return len(r.Probabilities) * r.Draws * r.Layers }

// Run measures every probability.
func (r *Rank) Run(ctx context.Context, progress Progress) (out []RankPoint, err error) {
	relation := draws{seed: r.Seed}.matrix(rankRelation, r.Tokens, r.Tokens, 1)
	for _, probability := range r.Probabilities {
		spectra := make([][]Spectrum, r.Layers)
		for l := range spectra {
			spectra[l] = make([]Spectrum, r.Draws)
		}
		err := each(ctx, r.Draws, r.Threads, func(ctx context.Context, i int) (err error) {
			d := draws{seed: r.Seed, example: uint32(i)}
			x := identicalTokens(d, r.Tokens, r.Width)
			for l := range spectra {
				if err := ctx.Err(); err != nil {
					return err
				}
				d.step = uint32(l + 1)
				x = randomLayer(d, x, relation, probability)
				if spectra[l][i], err = SpectrumOf(x); err != nil {
					return err
				}
				progress.tell(1)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		for l, s := range spectra {
			var single, tenth, entropy []float64
			for _, s := range s {
				single, tenth = append(single, float64(s.Rank(SinglePrecision))), append(tenth, float64(s.Rank(SinglePrecision/10)))
				entropy = append(entropy, s.EntropyRank())
			}
			out = append(out, RankPoint{probability, l + 1, SpreadOf(single), SpreadOf(tenth), SpreadOf(entropy), r.Draws, r.Tokens, r.Width, r.Seed})
		}
	}
	return out, nil
}

// What the draws of this study are for.
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

// randomLayer is one layer with weights of a draw.
func randomLayer(r draws, x, relation *mat.Dense, probability string) *mat.Dense {
	n, d := x.Dims()
	linear := func(what uint32, x *mat.Dense, out int) *mat.Dense {
		_, in := x.Dims()
		var y mat.Dense
		y.Mul(x, r.matrix(what, in, out, 1/math.Sqrt(float64(in))))
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
	if probability == LeakyReLU {
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

// maxout is the paper's score, before it is scaled.
func maxout(q, k []float64) (sum float64) {
	for c, v := range q {
		sum += max(v, k[c])
	}
	return sum
}

func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func gelu(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) }

// geluSlope is the derivative of gelu.
func geluSlope(x float64) float64 {
	return (1+math.Erf(x/math.Sqrt2))/2 + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
}

// probabilityEpsilon is that of the denominator of the paper's probability.
const probabilityEpsilon = 1e-9

// normalise makes a row of scores one of probabilities.
func normalise(a []float64, probability string, leak float64) {
	sum := leak + probabilityEpsilon
	if probability == Softmax {
		top := a[0]
		for _, v := range a {
			top = max(top, v)
		}
		sum = 0
		for j, v := range a {
			a[j] = math.Exp(v - top)
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

// layerNorm gives each row the mean 0 and the variance 1.
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
