package linear

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/seq"
)

// Report is what training measured.
type Report struct {
	Rows int // labelled rows of the training split
	// validation loss of each epoch, or of each penalty of a ridge regression; empty without validation
	Losses []float64
	Kept   int // index in Losses that the model is of; -1 without validation
	// Accuracy is the share of right classes among the measured validation rows, of a model of classes.
	Accuracy float64
	Measured int
	// Penalty is the λ of a ridge regression; 0 for others.
	Penalty float64
	Pairs   *PairsReport // nil but for pairs
}

// Fit trains a model of the configuration on the labelled rows of train. The epoch, or the penalty of a ridge
// regression, is the one with the least loss on val. Where val is nil it is the last epoch, or the penalty 1.
//
// Two passes make the vocabulary, one counts classes, and each epoch is one more. Features stay in memory
// between passes as long as they take 512 MiB at most; the others are computed again. The table takes 12 to 20
// bytes a feature and column, and each thread 16 MiB while rows are counted.
func Fit(ctx context.Context, config *Config, train, val Rows, o Options) (*Model, *Report, error) {
	if err := config.Validate(); err != nil {
		return nil, nil, err
	}
	c := *config
	c.Numbers = slices.Clone(c.Numbers)
	if c.Pairs != nil && o.Updates == 0 {
		o.Updates = pairsUpdates
	}
	fit := &fitting{Options: o, config: &c, train: newData(train, &c, &o)}
	if err := fit.train.index(ctx); err != nil {
		return nil, nil, err
	}
	if val != nil {
		fit.val = newData(val, &c, &o)
		fit.val.vocabulary = fit.train.vocabulary
	}
	vocabulary, columns := fit.train.vocabulary, c.columns()
	m := &Model{c, vocabulary, make([]cell, vocabulary.Size()*columns), make([]float32, columns), nil}
	var err error
	if c.Task == seq.Regression {
		err = fit.ridge(ctx, m)
	} else {
		err = fit.logistic(ctx, m)
	}
	if err != nil {
		return nil, nil, err
	}
	m.Config = c
	if c.Pairs != nil {
		if err := fit.comparison(ctx, m, train, val); err != nil {
			return nil, nil, err
		}
	}
	return m, &fit.report, nil
}

// fitting is the state of [Fit].
type fitting struct {
	Options
	config     *Config
	train, val *data
	report     Report
	features   int64 // features of all training rows together
	table      []parameter
	bias       []parameter
	kept       []float32 // weights of the best epoch, those of the table and the biases
}

// ErrNothingToLearn is the error for a split whose rows have no labels.
var ErrNothingToLearn = errors.New("a linear model needs training rows with labels or numbers, found none")

// parameter is a weight of Adagrad (Duchi, Hazan and Singer, JMLR 12, 2011).
type parameter struct {
	weight  float32
	squares float32 // sum of the squares of gradients
	ratio   float32 // value of the feature before it is divided by the row's norm
}

// What training is made with.
const (
	usualEpochs    = 5
	firstSquares   = 1e-8
	biasRate       = 0.1  // times the rate of weights
	minRate        = 1e-5 // final rate of the decay
	WordsRate      = 0.5  // learning rate of words
	otherUnitsRate = 0.1
)

func (f *fitting) logistic(ctx context.Context, m *Model) error {
	if err := f.ratios(ctx); err != nil {
		return err
	}
	columns := f.config.columns()
	f.bias = make([]parameter, columns)
	f.kept = make([]float32, 0, len(f.table)+columns)
	for i := range f.table {
		f.table[i].squares = firstSquares
	}
	for i := range f.bias {
		f.bias[i] = parameter{0, firstSquares, 1}
	}
	epochs, rate := f.Epochs, f.Rate
	if epochs == 0 {
		epochs = usualEpochs
	}
	if rate == 0 {
		rate = otherUnitsRate
		if f.config.NGrams.Units == ngram.Words {
			rate = WordsRate
		}
	}
	s := newStep(f.config, f.table, f.bias)
	if columns > 1 {
		s.team, s.shared = newTeam(columns, f.train.workers), f.train.bounds.shared
		defer s.team.stop()
	}
	steps := f.report.Rows
	if all := f.features * int64(columns); f.Updates > 0 && all > f.Updates {
		steps = max(1, int(float64(steps)*float64(f.Updates)/float64(all)))
	}
	total, t := float64(epochs*steps), 0
	if f.end > 0 {
		epochs = min(epochs, f.end) // total is unchanged: the learning rates are those of the whole run
	}
	f.report.Kept = -1
	for epoch := range epochs {
		err := f.train.shuffled(ctx, f.Seed, epoch, steps, func(r *row) {
			s.update(r, float32(rate*(1-float64(t)/total)+minRate))
			t++
		})
		if err != nil {
			return err
		}
		loss, right, rows, err := f.validate(ctx)
		if err != nil {
			return err
		}
		if rows == 0 {
			continue
		}
		f.report.Losses = append(f.report.Losses, loss)
		if k := f.report.Kept; k < 0 || loss < f.report.Losses[k] {
			f.report.Kept = epoch
			if f.config.Task != seq.MultiLabel {
				f.report.Accuracy, f.report.Measured = float64(right)/float64(rows), rows
			}
			f.keep()
		}
	}
	if f.report.Kept < 0 {
		f.keep()
	}
	for i, p := range f.table {
		m.cells[i] = cell{fixed(float64(f.kept[i]) * float64(p.ratio)), int32(math.Round(float64(p.ratio) * ratioUnit))}
	}
	copy(m.bias, f.kept[len(f.table):])
	return nil
}

// keep copies the weights and biases of the best epoch.
func (f *fitting) keep() {
	f.kept = f.kept[:0]
	for _, part := range [][]parameter{f.table, f.bias} {
		for i := range part {
			f.kept = append(f.kept, part[i].weight)
		}
	}
}

// fixed is a product of weight and ratio in units of 2⁻²⁰.
func fixed(v float64) int32 {
	return int32(max(math.MinInt32, min(math.MaxInt32, math.Round(v*weightUnit))))
}

// rounded is a ratio in multiples of 2⁻¹⁰.
func rounded(r float64) float32 {
	return float32(max(-maxRatio, min(maxRatio, math.Round(r*ratioUnit))) / ratioUnit)
}

// ratios counts the rows of each feature and class and computes the log-ratios.
func (f *fitting) ratios(ctx context.Context) error {
	columns, size := f.config.columns(), f.train.vocabulary.Size()
	with, all := make([]uint32, size*columns), make([]uint32, size)
	err := f.train.inOrder(ctx, func(rows []row) error {
		for i := range rows {
			r := &rows[i]
			for _, j := range r.features {
				all[j]++
			}
			f.config.classes(r, func(c int) {
				for _, j := range r.features {
					with[int(j)*columns+c]++
				}
			})
		}
		f.report.Rows += len(rows)
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	if f.report.Rows == 0 {
		return ErrNothingToLearn
	}
	inside := make([]int64, columns)
	for j, n := range all {
		f.features += int64(n)
		for c, p := range with[j*columns:][:columns] {
			inside[c] += int64(p)
		}
	}
	base := make([]float64, columns)
	for c, p := range inside {
		base[c] = math.Log(float64(p+int64(size))) - math.Log(float64(f.features-p+int64(size)))
	}
	f.table = make([]parameter, size*columns)
	for j, n := range all {
		for c, p := range with[j*columns:][:columns] {
			f.table[j*columns+c].ratio = rounded(math.Log(float64(p+1)) - math.Log(float64(n-p+1)) - base[c])
		}
	}
	return nil
}

// classes calls with for each column whose class or label a row has.
func (c *Config) classes(r *row, with func(column int)) {
	switch {
	case c.Task == seq.MultiLabel:
		for _, l := range r.labels {
			with(int(l))
		}
	case c.columns() > 1:
		with(int(r.label))
	case r.label == 1:
		with(0)
	}
}

// validate returns the mean loss of the validation rows, and how many there are. Those whose label is predicted
// are right.
func (f *fitting) validate(ctx context.Context) (loss float64, right, rows int, err error) {
	if f.val == nil {
		return 0, 0, 0, nil
	}
	const part = 256
	err = f.val.inOrder(ctx, func(all []row) error {
		sums := make([]float64, (len(all)+part-1)/part)
		hits := make([]int, len(sums))
		steps := make([]*step, f.val.workers)
		err := f.val.parallel(ctx, len(sums), func(w, i int) error {
			if steps[w] == nil {
				steps[w] = newStep(f.config, f.table, f.bias)
			}
			for k := i * part; k < min(len(all), (i+1)*part); k++ {
				sums[i] += steps[w].loss(&all[k])
				if steps[w].predicts(&all[k]) {
					hits[i]++
				}
			}
			return nil
		})
		for i, s := range sums {
			loss += s
			right += hits[i]
		}
		rows += len(all)
		return err
	})
	return loss / float64(max(1, rows)), right, rows, err
}
