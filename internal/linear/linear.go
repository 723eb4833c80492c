// Package linear is the linear model of hashed n-grams: logistic regression on naive-Bayes log-ratios,
// as in Wang and Manning, Baselines and Bigrams, ACL 2012, and for numbers ridge regression on
// inverse document frequencies. It reads whole rows, trains in seconds, and is the same for any number of
// threads.
//
// With J the features of a row, the distinct slots of its n-grams that training has (package ngram), column c
// of the model has the logit
//
//	z_c = Σ_{j∈J} w_cj·r_cj / √(Σ_{j∈J} r_cj²) + b_c
//
// There is one column for two classes, whose logits are 0 and z; one for each class of more, and softmax over
// them; one for each label that a row may have besides others; one for each number. Let p_cj be the number of
// training rows with feature j of class c, q_cj of those of other classes, and M the number of features. Then
//
//	r_cj = ln((p_cj + 1) / (Σ_j p_cj + M)) − ln((q_cj + 1) / (Σ_j q_cj + M))
//
// and for numbers r_cj = 1 + ln((1 + n) / (1 + n_j)), n_j being how many of the n rows have feature j.
//
// The ratios are rounded to multiples of 2⁻¹⁰ and the products w_cj·r_cj to multiples of 2⁻²⁰, so that
// both sums are sums of integers: their order does not matter, and an edit of a row adds and
// subtracts exactly (see [Document]).
//
// The validation split selects the epoch, the learning rate (with few rows) and a factor of all logits, which is part
// of w and b (see [Choice]).
//
// A model of pairs has a second part, which compares the sides (package pairs). Its logits z are the sum
// v_1 z_1 + v_2 z_2 of those of n-grams and of the comparison; the weights are fitted on the validation split.
package linear

import (
	"math"

	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/internal/pairs"
	"github.com/sftseq/sftseq/seq"
)

// Fixed point of the served numbers.
const (
	weightUnit = 1 << 20
	ratioUnit  = 1 << 10
	maxRatio   = 1 << 15 // bound of a ratio's integer, so that no sum of squares overflows
)

// Model is a trained model. It is safe for concurrent use.
type Model struct {
	Config     Config
	vocabulary *ngram.Vocabulary
	cells      []cell       // feature j of column c stands at j·columns + c
	bias       []float32    // one a column
	pairs      *pairs.Model // nil where Config.Pairs is
}

// cell is what a feature adds to a column's sums.
type cell struct {
	weight int32 // w·r in units of 2⁻²⁰
	ratio  int32 // r in units of 2⁻¹⁰
}

// Features is the number of features.
func (m *Model) Features() int { return m.vocabulary.Size() }

// Columns is the number of weights of a feature.
func (m *Model) Columns() int { return len(m.bias) }

// Predictor computes the logits of rows. It is not safe for concurrent use.
type Predictor struct {
	model     *Model
	extractor *ngram.Extractor
	features  []uint32
	sums      []sum
	logits    []float64
	pairs     *pairs.Predictor // nil without a comparison
}

// NewPredictor returns a predictor of the model.
func (m *Model) NewPredictor() *Predictor {
	p := &Predictor{
		model: m, extractor: ngram.NewExtractor(m.Config.NGrams),
		sums: make([]sum, len(m.bias)), logits: make([]float64, m.Config.Outputs()),
	}
	if m.pairs != nil {
		p.pairs = m.pairs.NewPredictor()
	}
	return p
}

// Logits returns the logits of a row, one for each class or label, or the predicted numbers, standardised. The
// next call overwrites them.
func (p *Predictor) Logits(e *seq.Example) []float64 {
	out := p.ofNGrams(e)
	if p.pairs != nil {
		w := p.model.Config.Pairs.Weights
		compared := p.pairs.Logits(e.A, e.B)
		z := out[len(out)-len(compared):]
		for c, v := range compared {
			z[c] = float64(w[pairs.OfNGrams]*z[c]) + float64(w[pairs.OfComparison]*v)
		}
	}
	return out
}

// ofNGrams returns the logits of the n-grams alone.
func (p *Predictor) ofNGrams(e *seq.Example) []float64 {
	if p.features = p.features[:0]; p.model.Features() > 0 {
		p.features = p.model.vocabulary.Features(p.extractor, e.A, e.B, p.features)
	}
	clear(p.sums)
	if len(p.sums) == 1 {
		s := sum{}
		for _, f := range p.features {
			s.add(p.model.cells[f], 1)
		}
		p.sums[0] = s
	} else {
		for _, f := range p.features {
			p.model.add(p.sums, f, 1)
		}
	}
	return p.model.logits(p.sums, p.logits)
}

// sum is the two sums of a column's logit.
type sum struct{ weights, squares int64 }

// add adds a cell n times.
func (s *sum) add(c cell, n int64) {
	s.weights += n * int64(c.weight)
	s.squares += n * int64(c.ratio) * int64(c.ratio)
}

// add adds a feature's cells to the sums n times.
func (m *Model) add(sums []sum, feature uint32, n int64) {
	for c, v := range m.cells[int(feature)*len(sums):][:len(sums)] {
		sums[c].add(v, n)
	}
}

// logits computes the outputs from the sums of their columns.
func (m *Model) logits(sums []sum, out []float64) []float64 {
	z := out[len(out)-len(sums):] // with two classes, the second one
	for c, s := range sums {
		z[c] = float64(m.bias[c])
		if s.squares > 0 {
			z[c] += float64(s.weights) / weightUnit / (math.Sqrt(float64(s.squares)) / ratioUnit)
		}
	}
	return out
}
