package linear

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/seq"
)

// Report holds the measurements of a training run.
type Report struct {
	Rows int // labelled rows of the training split
	// Losses holds the validation loss of each epoch with the selected learning rate, or of each
	// tried penalty of a ridge regression; empty without validation.
	Losses []float64
	Kept   int // index in Losses of the returned model; -1 without validation
	Choice Choice
	// Accuracy is the fraction of the Measured validation rows whose class is predicted correctly.
	// Both fields are 0 for multi-label and regression, and without labelled validation rows.
	Accuracy float64
	Measured int
	// Penalty is the λ of a ridge regression; otherwise 0.
	Penalty float64
	Pairs   *PairsReport // nil except for pairs with labelled validation rows
}

// Fit trains a model on the labelled rows of train. It returns the model of the [Choice], or of the
// penalty of a ridge regression, with the lowest loss on val. If val is nil or has no labelled rows, it
// returns the model of the last epoch with Options.Rate, or of the penalty 1.
//
// One or two passes over train build the vocabulary, and at least one more counts the rows of each feature.
// Each epoch, or each iteration of a regression, is another pass. Up to 512 MiB of the features of a
// split stay in memory between passes; the other features are computed again. Weights take up to 24
// bytes per feature and column, for a regression 48. If two passes build the vocabulary, each thread takes
// another 16 MiB during the first.
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
	features   int64 // total number of features of the training rows
	table      []parameter
	bias       []parameter
	kept       []float32 // weights and biases of the best epoch
}

// ErrNothingToLearn is the error for a training split without rows that have labels or numbers.
var ErrNothingToLearn = errors.New("a linear model needs training rows with labels or numbers, found none")

// parameter is a weight that Adagrad trains (Duchi, Hazan and Singer, JMLR 12, 2011).
type parameter struct {
	weight  float32
	squares float32 // sum of the squares of gradients
	ratio   float32 // value of the feature before it is divided by the row's norm
}

// Defaults and constants of the training.
const (
	defaultEpochs  = 5
	initialSquares = 1e-8
	biasRate       = 0.1  // times the rate of weights
	minRate        = 1e-5 // added to the decaying learning rate
	WordsRate      = 0.5  // learning rate of words
	otherUnitsRate = 0.1  // learning rate of bytes and tokens
)

// logistic trains a logistic regression and sets the cells and biases of m.
func (f *fitting) logistic(ctx context.Context, m *Model) error {
	if err := f.ratios(ctx); err != nil {
		return err
	}
	columns := f.config.columns()
	f.bias = make([]parameter, columns)
	f.kept = make([]float32, 0, len(f.table)+columns)
	f.Epochs = cmp.Or(f.Epochs, defaultEpochs)
	if f.Rate == 0 {
		f.Rate = otherUnitsRate
		if f.config.NGrams.Units == ngram.Words {
			f.Rate = WordsRate
		}
	}
	s := newStep(f.config, f.table, f.bias)
	if columns > 1 {
		s.team, s.shared = newTeam(columns, f.train.workers), f.train.bounds.shared
		defer s.team.stop()
	}
	f.report.Kept, f.report.Choice = -1, Choice{Rate: f.Rate, Scale: cmp.Or(f.scale, 1)}
	for _, factor := range f.rateFactors(columns) {
		better, err := f.descend(ctx, s, factor*f.Rate)
		if err != nil {
			return err
		}
		if !better {
			break
		}
	}
	if f.report.Kept < 0 {
		f.saveBest()
	}
	scale := f.report.Choice.Scale
	for i, p := range f.table {
		m.cells[i] = cell{fixedPoint(scale * float64(f.kept[i]) * float64(p.ratio)),
			int32(math.Round(float64(p.ratio) * ratioUnit))}
	}
	for c, b := range f.kept[len(f.table):] {
		m.bias[c] = float32(scale * float64(b))
	}
	return nil
}

// descend trains from zero weights with a learning rate that decays linearly towards minRate. If the
// lowest validation loss of its epochs is below the loss of the saved weights, descend saves the
// weights of this epoch and returns true.
func (f *fitting) descend(ctx context.Context, s *step, rate float64) (better bool, err error) {
	for i := range f.table {
		f.table[i].weight, f.table[i].squares = 0, initialSquares
	}
	for i := range f.bias {
		f.bias[i] = parameter{0, initialSquares, 1}
	}
	steps := f.report.Rows
	if updates := f.features * int64(len(f.bias)); f.Updates > 0 && updates > f.Updates {
		steps = max(1, int(float64(steps)*float64(f.Updates)/float64(updates)))
	}
	epochs, total, t := f.Epochs, float64(f.Epochs*steps), 0
	if f.maxEpoch > 0 {
		epochs = min(epochs, f.maxEpoch) // total is unchanged, to keep the learning rates of the whole run
	}
	minLoss := math.Inf(1)
	if f.report.Kept >= 0 {
		minLoss = f.report.Losses[f.report.Kept]
	}
	var losses []float64
	for epoch := range epochs {
		err := f.train.shuffled(ctx, f.Seed, epoch, steps, func(r *row) {
			s.update(r, float32(rate*(1-float64(t)/total)+minRate))
			t++
		})
		if err != nil {
			return false, err
		}
		v, err := f.validate(ctx)
		if err != nil {
			return false, err
		}
		if v.rows == 0 {
			continue
		}
		losses = append(losses, v.loss)
		if v.loss < minLoss {
			minLoss, better = v.loss, true
			f.report.Kept, f.report.Choice = epoch, Choice{Epoch: epoch + 1, Rate: rate, Scale: v.scale}
			if f.config.Task != seq.MultiLabel {
				f.report.Accuracy, f.report.Measured = float64(v.correct)/float64(v.rows), v.rows
			}
			f.saveBest()
		}
	}
	if better {
		f.report.Losses = losses
	}
	return better, nil
}

// saveBest copies the current weights and biases to kept.
func (f *fitting) saveBest() {
	f.kept = f.kept[:0]
	for _, part := range [][]parameter{f.table, f.bias} {
		for i := range part {
			f.kept = append(f.kept, part[i].weight)
		}
	}
}

// fixedPoint returns v, a product of weight and ratio, in units of 2⁻²⁰, clamped to int32.
func fixedPoint(v float64) int32 {
	return int32(max(math.MinInt32, min(math.MaxInt32, math.Round(v*weightUnit))))
}

// roundRatio rounds a ratio to a multiple of 2⁻¹⁰, from −32 to 32.
func roundRatio(r float64) float32 {
	return float32(max(-maxRatio, min(maxRatio, math.Round(r*ratioUnit))) / ratioUnit)
}

// ratios counts the rows of each feature and class and computes the log-ratios.
func (f *fitting) ratios(ctx context.Context) error {
	columns, size := f.config.columns(), f.train.vocabulary.Size()
	withClass, total := make([]uint32, size*columns), make([]uint32, size)
	err := f.train.inOrder(ctx, func(rows []row) error {
		for i := range rows {
			r := &rows[i]
			for _, j := range r.features {
				total[j]++
			}
			f.config.classes(r, func(c int) {
				for _, j := range r.features {
					withClass[int(j)*columns+c]++
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
	classTotals := make([]int64, columns)
	for j, n := range total {
		f.features += int64(n)
		for c, p := range withClass[j*columns:][:columns] {
			classTotals[c] += int64(p)
		}
	}
	base := make([]float64, columns)
	for c, p := range classTotals {
		base[c] = math.Log(float64(p+int64(size))) - math.Log(float64(f.features-p+int64(size)))
	}
	f.table = make([]parameter, size*columns)
	for j, n := range total {
		for c, p := range withClass[j*columns:][:columns] {
			f.table[j*columns+c].ratio = roundRatio(math.Log(float64(p+1)) - math.Log(float64(n-p+1)) - base[c])
		}
	}
	return nil
}

// classes calls visit for each column whose class or label the row has.
func (c *Config) classes(r *row, visit func(column int)) {
	switch {
	case c.Task == seq.MultiLabel:
		for _, l := range r.labels {
			visit(int(l))
		}
	case c.columns() > 1:
		visit(int(r.label))
	case r.label == 1:
		visit(0)
	}
}
