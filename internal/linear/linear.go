// Package linear implements a linear model of hashed n-grams: logistic regression on naive-Bayes
// log-ratios, as in Wang and Manning, Baselines and Bigrams, ACL 2012, and for numbers ridge
// regression on inverse document frequencies. A model reads whole rows. Training results in the same
// model for any number of threads.
//
// Let J be the features of a row: the distinct slots of its n-grams that occur in the training
// split often enough (package ngram). The logit of column c of the model is
//
//	z_c = Σ_{j∈J} w_cj·r_cj / √(Σ_{j∈J} r_cj²) + b_c
//
// Two classes have one column, with the logits 0 and z. More classes have one column each and a
// softmax over them. Multi-label has one column per label, and a regression one per number. Of the
// training rows with feature j, let p_cj be the number of rows of class c and q_cj the number of all
// other rows. Let M be the number of features. Then
//
//	r_cj = ln((p_cj + 1) / (Σ_j p_cj + M)) − ln((q_cj + 1) / (Σ_j q_cj + M))
//
// For numbers r_cj = 1 + ln((1 + n) / (1 + n_j)), where n_j of the n rows have feature j.
//
// Ratios are rounded to multiples of 2⁻¹⁰ and products w_cj·r_cj to multiples of 2⁻²⁰. Both sums
// are then sums of integers: they do not depend on the order, and an edit of a row adds and
// subtracts exactly (see [Predictor.Edit]).
//
// The validation split selects the epoch, the learning rate (with few rows) and a factor of all
// logits, which is part of w and b (see [Choice]). For numbers, it selects the ridge penalty.
//
// A model of pairs has a second part, which compares the sides (package pairs). The logits of the
// model are v_1 z_1 + v_2 z_2, the weighted sum of the logits of the n-grams and of the comparison.
// v_1 and v_2 are fitted on the validation split; without one they have default values.
package linear

import (
	"math"

	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/internal/pairs"
	"github.com/sftseq/sftseq/seq"
)

// Fixed-point units of the weights and ratios for prediction.
const (
	weightUnit = 1 << 20
	ratioUnit  = 1 << 10
	maxRatio   = 1 << 15 // maximum absolute ratio in fixed point; prevents an overflow of the sum of squares
)

// Model is a trained model. It is safe for concurrent use.
type Model struct {
	Config     Config
	vocabulary *ngram.Vocabulary
	cells      []cell       // feature j of column c has the index j·columns + c
	bias       []float32    // one per column
	pairs      *pairs.Model // nil if Config.Pairs is nil
}

// cell holds the terms of a feature in a column's sums.
type cell struct {
	weight int32 // w·r in units of 2⁻²⁰
	ratio  int32 // r in units of 2⁻¹⁰
}

// Features returns the number of features.
func (m *Model) Features() int { return m.vocabulary.Size() }

// Columns returns the number of weights per feature.
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

// Logits returns one logit per class or label, or the standardised predictions of numbers. The next
// call overwrites the result.
func (p *Predictor) Logits(e *seq.Example) []float64 {
	out := p.nGramLogits(e)
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

// nGramLogits returns the logits of the n-grams without the comparison.
func (p *Predictor) nGramLogits(e *seq.Example) []float64 {
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

// sum holds the two sums of a column's logit.
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
	z := out[len(out)-len(sums):] // with two classes, only the second logit
	for c, s := range sums {
		z[c] = float64(m.bias[c])
		if s.squares > 0 {
			z[c] += float64(s.weights) / weightUnit / (math.Sqrt(float64(s.squares)) / ratioUnit)
		}
	}
	return out
}
