package modeltest

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
	"github.com/sftseq/sftseq/sinusoid"
)

// input returns the vector that the input layer reads for a token with these features.
func (r Reference) input(row []float32) (x []float64) {
	if r.Input == config.OnesInput {
		return []float64{1}
	}
	for _, v := range row {
		x = append(x, float64(v))
	}
	return x
}

// distanceBias returns the factor (Rmul) and the term (Radd) of the score of query i and duplet s.
// They are computed from the squared distances of the points and, if the points have normals, the
// dot products of the normals.
func (r Reference) distanceBias(name string, head, i int, s duplet) (mul, add float64) {
	at := func(token int, feature string) float64 {
		return float64(r.features[token][slices.Index(r.FeatureNames, feature)])
	}
	linear := func(kind string, t int) float64 {
		w := r.Weights[name+"attn."+kind+".weight"]
		n := len(w) / r.NumHeads
		square, normals := 0.0, 0.0
		for c := range 3 {
			d := at(i, seq.PositionNames[c]) - at(t, seq.PositionNames[c])
			square += d * d
			if n == 2 {
				normals += at(i, seq.NormalNames[c]) * at(t, seq.NormalNames[c])
			}
		}
		z := r.Weights[name+"attn."+kind+".bias"][head] + w[head*n]*square
		if n == 2 {
			z += w[head*n+1] * normals
		}
		return z
	}
	mul, add = s.p*softplus64(linear("rel_mul", s.top)), s.p*linear("rel_add", s.top)
	if s.partner >= 0 {
		mul += (1 - s.p) * softplus64(linear("rel_mul", s.partner))
		add += (1 - s.p) * linear("rel_add", s.partner)
	}
	return mul, add
}

// edgeBias returns the factor (Rmul) and the term (Radd) of the score of query i and duplet s. They are
// computed from the features of the edges between the query and the duplet's tokens.
func (r Reference) edgeBias(name string, head, i int, s duplet) (mul, add float64) {
	linear := func(kind string, t int) float64 {
		w := r.Weights[name+"attn."+kind+".weight"]
		z, a := r.Weights[name+"attn."+kind+".bias"][head], r.pairs[i][t]
		for c, v := range a {
			z += w[head*len(a)+c] * v
		}
		return z
	}
	mul, add = s.p*softplus64(linear("rel_mul", s.top)), s.p*linear("rel_add", s.top)
	if s.partner >= 0 {
		mul += (1 - s.p) * softplus64(linear("rel_mul", s.partner))
		add += (1 - s.p) * linear("rel_add", s.partner)
	}
	return mul, add
}

// Reference computes a model in float64, with plain loops over the terms of its definition.
type Reference struct {
	*config.Config
	Weights  map[string][]float64
	Training *model.Drawing // random numbers of a training step without dropout; nil in evaluation
	row      uint32         // row of the data set, in training
	features [][]float32    // features of the tokens, in place of ids
	pairs    [][][]float64  // features of each pair of nodes: see [configtest.PairsOf]

	vocabulary *ngram.Vocabulary // vocabulary of the table of n-grams
}

// NewReference returns the reference of a model, with a copy of its weights.
func NewReference(m *sft.Model) Reference {
	r := Reference{Config: m.Config, Weights: map[string][]float64{}}
	for _, p := range m.Parameters.List {
		for _, v := range m.Parameters.Slice(m.Weights, p) {
			r.Weights[p.Name] = append(r.Weights[p.Name], float64(v))
		}
	}
	r.addNGrams(m)
	return r
}

// Example returns the logits of an example and an explanation of each of its sequences.
func (r Reference) Example(e seq.Example) (logits []float64, explanations []ReferenceExplanation) {
	r.features, r.pairs = e.Features, configtest.PairsOf(r.Config, e)
	u, first := r.sequence(e.A)
	if r.Sequences() == 1 {
		return r.linear("head.out", u), []ReferenceExplanation{first}
	}
	v, second := r.sequence(e.B)
	features := slices.Concat(u, v)
	for c := range u {
		features = append(features, u[c]*v[c])
	}
	for c := range u {
		features = append(features, u[c]-v[c])
	}
	return r.linear("head.out", gelu64(r.linear("head.hidden", features))), []ReferenceExplanation{first, second}
}

// ReferenceExplanation holds, per layer, the weight and the mass of each sampled position, and the
// weight of each token in the pooling.
type ReferenceExplanation struct {
	layers  []map[int32][2]float64 // weight and mass by position
	pooling []float64
}

// Layers returns the rows of all tokens after the last layer, and the explanation of the layers.
func (r Reference) Layers(tokens []int32) (x [][]float64, explanation ReferenceExplanation) {
	return r.encode(r.embed(tokens), 0, r.NumLayers)
}

// embed returns the rows that the first layer reads.
func (r Reference) embed(tokens []int32) [][]float64 {
	d := r.HiddenSize
	x := make([][]float64, len(tokens))
	for i, token := range tokens {
		x[i] = r.Weights["embed.weight"][int(token)*d:][:d]
		if r.NGrams != nil {
			x[i] = r.withNGrams(x[i], tokens[:i+1])
		}
	}
	for _, row := range r.features {
		x = append(x, r.linear("input", r.input(row)))
	}
	return x
}

// encode returns the rows x after the layers [from, to), and the explanation of these layers.
func (r Reference) encode(x [][]float64, from, to int) (_ [][]float64, explanation ReferenceExplanation) {
	for l := from; l < to; l++ {
		name := fmt.Sprintf("layers.%d.", l)
		attention := func(x [][]float64) [][]float64 {
			y, mass := r.attention(l, name, x)
			explanation.layers = append(explanation.layers, mass)
			return y
		}
		mlp := func(x [][]float64) [][]float64 {
			return mapRows(x, func(v []float64) []float64 {
				return r.linear(name+"mlp.fc2", gelu64(r.linear(name+"mlp.fc1", v)))
			})
		}
		x = r.movingAverages(name, r.convolutions(name, x))
		norm1 := func(v []float64) []float64 { return r.norm(name+"norm1", v) }
		norm2 := func(v []float64) []float64 { return r.norm(name+"norm2", v) }
		switch {
		case r.NormPosition == "pre" && r.NumSampledTokens > 0:
			x = sum64(x, attention(mapRows(x, norm1)))
			x = sum64(x, mlp(mapRows(x, norm2)))
		case r.NormPosition == "pre":
			x = sum64(x, mlp(mapRows(x, norm2)))
		case r.NumSampledTokens > 0:
			x = mapRows(sum64(x, attention(x)), norm1)
			x = mapRows(sum64(x, mlp(x)), norm2)
		default:
			x = mapRows(sum64(x, mlp(x)), norm2)
		}
	}
	return x, explanation
}

func (r Reference) sequence(tokens []int32) (pooled []float64, explanation ReferenceExplanation) {
	var x [][]float64
	var hasWeight func(row int) bool
	var ofTokens func([]float64) []float64
	if r.Chunks == nil {
		x, explanation = r.Layers(tokens)
	} else {
		x, hasWeight, ofTokens = r.document(tokens)
	}
	if r.NormPosition == "pre" && r.Chunks == nil {
		x = mapRows(x, func(v []float64) []float64 { return r.norm("final_norm", v) })
	}
	if r.Pooling == config.MaxPooling {
		pooled, explanation = r.maxPool(x, explanation)
	} else {
		pooled, explanation.pooling = r.softmaxPool("head.pool", x, hasWeight)
	}
	if ofTokens != nil {
		explanation.pooling = ofTokens(explanation.pooling)
	}
	return pooled, explanation
}

// mixDuplet returns the row of duplet s: p·x[top] + (1−p)·x[partner].
func (r Reference) mixDuplet(x [][]float64, s duplet) []float64 {
	mixed := make([]float64, r.HiddenSize)
	for c := range mixed {
		mixed[c] = s.p * x[s.top][c]
		if s.partner >= 0 {
			mixed[c] += (1 - s.p) * x[s.partner][c]
		}
	}
	return mixed
}

// convolutions returns the rows x after the branches of convolutions.
func (r Reference) convolutions(name string, x [][]float64) [][]float64 {
	for n, c := range r.Convolutions {
		name := fmt.Sprintf("%sconv.%d", name, n)
		norm := func(v []float64) []float64 { return r.norm(name+".norm", v) }
		in := x
		if r.NormPosition == "pre" {
			in = mapRows(x, norm)
		}
		var y [][]float64
		for i := range in {
			z := slices.Clone(r.Weights[name+".bias"])
			for t := range c.KernelSize {
				if j := i + (t-c.KernelSize/2)*c.Dilation; j >= 0 && j < len(in) {
					for ch := range z {
						z[ch] += r.Weights[name+".weight"][t*len(z)+ch] * in[j][ch]
					}
				}
			}
			y = append(y, gelu64(z))
		}
		if x = sum64(x, y); r.NormPosition != "pre" {
			x = mapRows(x, norm)
		}
	}
	return x
}

// movingAverages returns the rows x after the branch of moving averages.
func (r Reference) movingAverages(name string, x [][]float64) [][]float64 {
	if r.MovingAverages == 0 {
		return x
	}
	norm := func(v []float64) []float64 { return r.norm(name+"average.norm", v) }
	in := x
	if r.NormPosition == "pre" {
		in = mapRows(x, norm)
	}
	y := mapRows(in, func([]float64) []float64 { return slices.Clone(r.Weights[name+"average.bias"]) })
	for s := range 2 * r.MovingAverages {
		h := make([]float64, r.HiddenSize)
		for n := range in {
			i := n
			if s >= r.MovingAverages {
				i = len(in) - 1 - n
			}
			for c, v := range in[i] {
				a := 1 / (1 + math.Exp(-r.Weights[name+"average.decay"][s*r.HiddenSize+c]))
				h[c] = a*h[c] + (1-a)*v
				y[i][c] += r.Weights[name+"average.gain"][s*r.HiddenSize+c] * h[c]
			}
		}
	}
	if x = sum64(x, mapRows(y, gelu64)); r.NormPosition != "pre" {
		x = mapRows(x, norm)
	}
	return x
}

// duplet is a sampled token mixed with its partner, with weights p and 1 − p. The partner is −1 if
// the token has none.
type duplet struct {
	top, partner int
	p            float64
}

// sample selects the k tokens with the largest scores and pairs them with random other tokens. In
// training it adds noise to the scores and drops tokens.
func (r Reference) sample(layer, k int, score []float64) []duplet {
	word := func(stream uint32, i int) uint32 {
		if d := r.Training; d != nil {
			return philox.Words(d.Seed, philox.Counter(uint32(i), 0, uint32(layer), stream, r.row, d.Step))[0]
		}
		return philox.Words(r.SamplerSeed, philox.Counter(uint32(i), 0, uint32(layer), stream, 0, 0))[0]
	}
	if r.Training != nil {
		for i := range score {
			score[i] -= math.Log(-math.Log(float64(philox.Uniform(word(philox.StreamGumbel, i)))))
		}
	}
	var order, all []int
	for i := range score {
		all = append(all, i)
		if r.Training == nil || float64(philox.Uniform(word(philox.StreamDrop, i))) >= r.DropToken {
			order = append(order, i)
		}
	}
	if order == nil { // training drops no token if it would drop all
		order = all
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(score[b], score[a]),
			cmp.Compare(word(philox.StreamTie, a), word(philox.StreamTie, b)), cmp.Compare(a, b))
	})
	k = min(k, len(order))
	top, rest := order[:k], order[k:]
	slices.SortFunc(rest, func(a, b int) int {
		return cmp.Or(cmp.Compare(word(philox.StreamPartner, a), word(philox.StreamPartner, b)), cmp.Compare(a, b))
	})
	partner := rest[:min(k, len(rest))]
	slices.Sort(top)
	slices.Sort(partner)
	var out []duplet
	for j, t := range top {
		s := duplet{t, -1, 1}
		if j < len(partner) {
			one, other := softplus64(score[t]), softplus64(score[partner[j]])
			s.partner, s.p = partner[j], one/(one+other)
		}
		out = append(out, s)
	}
	return out
}

// attention returns the block's output, and the weight and mass of each sampled token by position.
func (r Reference) attention(layer int, name string, x [][]float64) ([][]float64, map[int32][2]float64) {
	var score []float64
	for _, v := range x {
		score = append(score, r.linear(name+"sampler", v)[0])
	}
	duplets := r.sample(layer, r.NumSampledTokens, score)
	var q, k, v, leak, o [][]float64
	for _, row := range x {
		q, o = append(q, r.linear(name+"attn.q", row)), append(o, make([]float64, r.HiddenSize))
	}
	for _, s := range duplets {
		mixed := r.mixDuplet(x, s)
		k, v = append(k, r.linear(name+"attn.k", mixed)), append(v, r.linear(name+"attn.v", mixed))
		leak = append(leak, r.linear(name+"attn.leak", mixed))
	}
	dh := r.HiddenSize / r.NumHeads
	received := map[int32][2]float64{}
	for head := range r.NumHeads {
		leaked := 0.0
		for _, c := range leak {
			leaked += softplus64(c[head])
		}
		from := head * dh
		for i := range x {
			a := make([]float64, len(duplets))
			for j, s := range duplets {
				mul, add := r.relativeBias(name, head, i, s)
				a[j] = r.queryKeyScore(q[i][from:from+dh], k[j][from:from+dh])/math.Sqrt(float64(dh))*mul + add
			}
			for j, p := range r.probabilities(a, leaked) {
				for c := from; c < from+dh; c++ {
					o[i][c] += p * v[j][c]
				}
				p /= float64(r.NumHeads * len(x))
				add := func(position int, weight float64) {
					old := received[int32(position)]
					received[int32(position)] = [2]float64{weight, old[1] + weight*p}
				}
				if s := duplets[j]; s.partner < 0 {
					add(s.top, 1)
				} else {
					add(s.top, s.p)
					add(s.partner, 1-s.p)
				}
			}
		}
	}
	return mapRows(o, func(v []float64) []float64 { return r.linear(name+"attn.o", v) }), received
}

// queryKeyScore returns the score of a query and a key before scaling.
func (r Reference) queryKeyScore(q, k []float64) (m float64) {
	for c := range q {
		switch r.Score {
		case "maxout":
			m += max(q[c], k[c])
		case "maxout_standardized":
			m += (max(q[c], k[c]) - 1/math.Sqrt(math.Pi)) / math.Sqrt(1-1/math.Pi)
		case "lily":
			m += math.Abs(q[c]+k[c]) - math.Abs(q[c]-k[c])
		case "dot":
			m += q[c] * k[c]
		}
	}
	return m
}

// relativeBias returns the factor (Rmul) and the term (Radd) of the score of query i and duplet s.
func (r Reference) relativeBias(name string, head, i int, s duplet) (mul, add float64) {
	if r.Relative == "none" {
		return 1, 0
	}
	if r.Relative == config.DistanceRelation {
		return r.distanceBias(name, head, i, s)
	}
	if r.Relative == config.EdgeRelation {
		return r.edgeBias(name, head, i, s)
	}
	linear := func(kind string, j int) float64 {
		w, b := r.Weights[name+"attn."+kind+".weight"], r.Weights[name+"attn."+kind+".bias"]
		return sinusoid.Reference{Base: r.SinusoidBase,
			Dim: r.SinusoidDim}.Linear(w[head*r.SinusoidDim:][:r.SinusoidDim], b[head], i, j)
	}
	mul, add = s.p*softplus64(linear("rel_mul", s.top)), s.p*linear("rel_add", s.top)
	if s.partner >= 0 {
		mul += (1 - s.p) * softplus64(linear("rel_mul", s.partner))
		add += (1 - s.p) * linear("rel_add", s.partner)
	}
	return mul, add
}

// probabilities returns the row of P for the scores a of a query. leaked is the sum of the leaks of
// all duplets, a term of the denominator of leaky_relu.
func (r Reference) probabilities(a []float64, leaked float64) []float64 {
	sum := 1e-9
	if r.Probability == "leaky_relu" {
		sum += leaked
	}
	p := make([]float64, len(a))
	for j, v := range a {
		p[j] = max(0, v)
		if r.Probability == "softmax" {
			p[j] = math.Exp(v)
		}
		sum += p[j]
	}
	for j := range p {
		p[j] /= sum
	}
	return p
}

func (r Reference) linear(name string, x []float64) (y []float64) {
	w := r.Weights[name+".weight"]
	for o, bias := range r.Weights[name+".bias"] {
		for c, v := range x {
			bias += w[o*len(x)+c] * v
		}
		y = append(y, bias)
	}
	return y
}

func (r Reference) norm(name string, x []float64) []float64 {
	n := float64(len(x))
	mean, variance := 0.0, 0.0
	for _, v := range x {
		mean += v / n
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / n
	}
	y := make([]float64, len(x))
	for c, v := range x {
		y[c] = (v-mean)/math.Sqrt(variance+r.LayerNormEps)*r.Weights[name+".weight"][c] + r.Weights[name+".bias"][c]
	}
	return y
}

func mapRows(x [][]float64, f func([]float64) []float64) (y [][]float64) {
	for _, v := range x {
		y = append(y, f(v))
	}
	return y
}

func sum64(x, y [][]float64) [][]float64 {
	out := make([][]float64, len(x))
	for i := range x {
		for c := range x[i] {
			out[i] = append(out[i], x[i][c]+y[i][c])
		}
	}
	return out
}

func gelu64(x []float64) (y []float64) {
	for _, v := range x {
		y = append(y, v*(1+math.Erf(v/math.Sqrt2))/2)
	}
	return y
}

func softplus64(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
