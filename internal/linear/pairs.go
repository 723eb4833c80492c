package linear

import (
	"context"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/internal/pairs"
	"github.com/sftseq/sftseq/internal/parallel"
	"github.com/sftseq/sftseq/seq"
)

// PairsReport holds the mean cross-entropy of three predictions on the validation rows: of the n-grams
// alone, of the comparison alone, and of the weighted sum of both.
type PairsReport struct {
	NGrams, Comparison, Sum float64
}

// pairsPrior holds the weights of the n-grams and of the comparison if there are no labelled validation rows.
// With such rows, it is the prior of the fitted weights.
var pairsPrior = [2]float64{0.3, 0.6}

const (
	pairsUpdates  = 1 << 25 // default of Options.Updates for pairs
	maxWeightRows = 1 << 16 // approximate maximum number of validation rows for fitting the weights of the parts
)

// comparison trains the part of the model that compares the sides of a pair. If val has labelled rows, it
// fits the weights of both parts on these rows, and drops the n-grams unless they reduce the loss of the sum.
func (f *fitting) comparison(ctx context.Context, m *Model, train, val Rows) error {
	var err error
	m.pairs, _, err = pairs.Fit(ctx, *f.config.Pairs, train, val,
		pairs.Options{Classes: len(m.Config.LabelNames), Seed: f.Seed, Threads: f.workers(), Progress: f.Progress})
	if err != nil {
		return err
	}
	config := &m.pairs.Config
	m.Config.Pairs = config
	config.Weights = pairsPrior
	if val == nil {
		return nil
	}
	logits, labels, err := f.validationLogits(ctx, m, val)
	if err != nil || len(labels) == 0 {
		return err
	}
	alone := [2]float64{0, f.weights(logits, labels, 1)[0]}
	both := [2]float64(f.weights(logits, labels, 0))
	if config.Weights = both; !f.reducesLoss(logits, labels, alone, both) {
		config.Weights = alone
		err = m.dropNGrams()
	}
	f.measurePairs(config, logits, labels)
	return err
}

// weights fits the weights of the parts whose index is at least the parameter from. It returns their prior if
// every fitted weight is 0.
func (f *fitting) weights(logits [][2][]float32, labels []int32, from int) []float64 {
	fit := metrics.NewFusion(2-from, f.config.Outputs(), metrics.FusedClasses)
	for i, z := range logits {
		fit.Add(z[from:], metrics.Truth{Labels: labels[i : i+1]})
	}
	prior := pairsPrior[from:]
	if w := fit.Weights(prior); slices.Max(w) > 0 {
		return w
	}
	return prior
}

// reducesLoss reports whether the mean loss of the weighted sum is lower with the second weights than with
// the first weights, by more than the standard error of the difference.
func (f *fitting) reducesLoss(logits [][2][]float32, labels []int32, before, after [2]float64) bool {
	n, sum, squares := float64(len(labels)), 0.0, 0.0
	z := make([]float32, f.config.Outputs())
	for i, label := range labels {
		addParts(before, logits[i], z)
		gain := metrics.CrossEntropy(z, int(label))
		addParts(after, logits[i], z)
		gain -= metrics.CrossEntropy(z, int(label))
		sum += gain
		squares += gain * gain
	}
	mean := sum / n
	return mean > math.Sqrt(max(0, squares/n-mean*mean)/n)
}

// addParts writes the weighted sum of logits to out.
func addParts(weights [2]float64, logits [2][]float32, out []float32) {
	for k := range out {
		out[k] = float32(weights[0]*float64(logits[0][k]) + weights[1]*float64(logits[1][k]))
	}
}

// dropNGrams removes all features and biases of the n-grams, because their weight is 0.
func (m *Model) dropNGrams() (err error) {
	o := &m.Config.NGrams
	o.MinCount, o.Slots = 1, ngram.MinSlots
	m.vocabulary, err = ngram.NewVocabulary(*o, nil, ngram.NewBitmap(o.Slots))
	m.cells = nil
	clear(m.bias)
	return err
}

// validationLogits returns the logits of the n-grams and of the comparison for the labelled
// validation rows, and the labels of these rows. It samples a split of more than maxWeightRows rows
// at equal intervals.
func (f *fitting) validationLogits(ctx context.Context, m *Model, val Rows) (logits [][2][]float32, labels []int32,
	err error) {
	n, every := len(val.Lengths()), 1
	for n/every > maxWeightRows {
		every *= 2
	}
	all, label := make([][2][]float32, (n+every-1)/every), make([]int32, (n+every-1)/every)
	predictors := make([]*Predictor, f.train.workers)
	err = parallel.Do(ctx, f.train.workers, len(all), func(w, i int) error {
		if predictors[w] == nil {
			predictors[w] = m.NewPredictor()
		}
		e, err := val.Example(i * every)
		if label[i] = e.Label; err != nil || e.Label < 0 {
			return err
		}
		p := predictors[w]
		compared := make([]float64, m.Config.Outputs())
		copy(compared[len(compared)-m.pairs.Outputs():], p.pairs.Logits(e.A, e.B))
		for part, z := range [][]float64{p.nGramLogits(&e), compared} {
			for _, v := range z {
				all[i][part] = append(all[i][part], float32(v))
			}
		}
		return nil
	})
	for i, l := range label {
		if l != seq.NoLabel {
			logits, labels = append(logits, all[i]), append(labels, l)
		}
	}
	return logits, labels, err
}

// measurePairs sets Pairs, Accuracy and Measured of the report.
func (f *fitting) measurePairs(c *pairs.Config, logits [][2][]float32, labels []int32) {
	r, correct, n := &PairsReport{}, 0, float64(len(labels))
	sum := make([]float32, f.config.Outputs())
	for i, z := range logits {
		addParts(c.Weights, z, sum)
		class := int(labels[i])
		r.NGrams += metrics.CrossEntropy(z[0], class) / n
		r.Comparison += metrics.CrossEntropy(z[1], class) / n
		r.Sum += metrics.CrossEntropy(sum, class) / n
		if slices.Index(sum, slices.Max(sum)) == class {
			correct++
		}
	}
	f.report.Pairs, f.report.Accuracy, f.report.Measured = r, float64(correct)/n, len(labels)
}
