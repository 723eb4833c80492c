package baseline

import (
	"context"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// Limits of ridge regression. With them it takes a few seconds per predicted number.
const (
	ridgeTokens = 1 << 20 // maximum number of tokens or words to read from a split
	ridgeSteps  = 60      // maximum number of conjugate gradient steps
	maxNumbers  = 16      // maximum number of predicted numbers
)

// penalties are the candidate values of λ. fitLinear selects one on a tenth of the training rows.
var penalties = []float64{1e-4, 1e-2, 1}

// RidgeName returns the name of the [Ridge] baseline for a data set.
func RidgeName(m *seq.Manifest) string {
	of := "bag of tokens"
	if m.FeatureNames != nil {
		of = momentsName(m)
	}
	return of + ", ridge regression"
}

// Ridge fits a linear regression for each number and evaluates it on a split. The inputs are bags of
// words or tokens, with bigrams, or the [moments] of tokens with features. With x the inputs of a
// sequence divided by their standard deviations, m the means of x, and y a number, the weights
// minimise
//
//	Σ (mean(y) + w·(x − m) − y)² + λ n |w|²
//
// over the n training rows (Hoerl and Kennard, Technometrics 12, 1970). A tenth of these rows
// selects λ from [penalties]. The parameter window limits the tokens of each sequence. The result is nil
// if the data set has no numbers, more than maxNumbers, or fewer than two training rows.
func Ridge(ctx context.Context, set *seq.Dataset, split string, window seq.Window) ([]metrics.NumberErrors, error) {
	n := len(set.Manifest.NumberNames)
	if n == 0 || n > maxNumbers {
		return nil, nil
	}
	take, tokens, err := ridgeInputs(ctx, set)
	if err != nil {
		return nil, err
	}
	work := &work{ctx: ctx, set: set}
	read := func(split string) (x [][]feature, y [][]float32, err error) {
		_, err = work.read(split, window, tokens, func(rows []seq.Example) {
			for _, e := range rows {
				y = append(y, e.Numbers)
			}
			x = append(x, take(rows)...)
		})
		return x, y, err
	}
	train, numbers, err := read("train")
	if err != nil {
		return nil, err
	}
	if len(train) < 2 {
		return nil, nil
	}
	test, wanted, err := read(split)
	if err != nil {
		return nil, err
	}
	columns := standardise(train, test)
	predicted := make([][]float32, len(test))
	for i := range predicted {
		predicted[i] = make([]float32, n)
	}
	for c := range n {
		l, err := fitLinear(ctx, train, columns, numbers, c)
		if err != nil {
			return nil, err
		}
		for i, x := range test {
			predicted[i][c] = float32(l.predict(x))
		}
	}
	tally := metrics.NewRegression(n)
	for i := range test {
		tally.Add(predicted[i], wanted[i])
	}
	return tally.Numbers(), nil
}

// ridgeInputs returns a function that computes the features of rows, and the maximum number of
// tokens to read.
func ridgeInputs(ctx context.Context, set *seq.Dataset) (take func([]seq.Example) [][]feature,
	tokens int64, err error) {
	if set.Manifest.FeatureNames != nil {
		sums := summedOf(set.Manifest)
		return func(rows []seq.Example) (out [][]feature) {
			for _, e := range rows {
				var x []feature
				for i, v := range sums.values(e) {
					if v != 0 {
						x = append(x, feature{uint32(i), float32(v)})
					}
				}
				out = append(out, x)
			}
			return out
		}, ridgeTokens, nil
	}
	counted, err := countedOf(ctx, set, tokenizers.TypeOf(set.Manifest.Tokenizer))
	return func(rows []seq.Example) [][]feature {
		var sequences [][]int32
		for _, e := range rows {
			sequences = append(sequences, e.A)
		}
		return bags(sequences, counted, true)
	}, ridgeTokens * counted.tokens, err
}

// ridgeModel is the model y(x) = mean + w·(x − m).
type ridgeModel struct {
	mean    float64
	weights []float64 // one weight per column
	centre  float64   // w·m
}

func (l *ridgeModel) predict(x []feature) float64 {
	y := l.mean - l.centre
	for _, f := range x {
		y += float64(f.weight) * l.weights[f.bucket]
	}
	return y
}

// fitLinear selects the penalty, then fits column c of numbers on all rows.
func fitLinear(ctx context.Context, rows [][]feature, columns int, numbers [][]float32, c int) (*ridgeModel, error) {
	y := make([]float64, len(rows))
	for i := range y {
		y[i] = float64(numbers[i][c])
	}
	held := max(1, len(rows)/10) // the first rows are held out
	best, minSum := penalties[0], math.Inf(1)
	for _, penalty := range penalties {
		l, err := solve(ctx, rows[held:], columns, y[held:], penalty)
		if err != nil {
			return nil, err
		}
		sum := 0.0
		for i, x := range rows[:held] {
			d := l.predict(x) - y[i]
			sum += d * d
		}
		if sum < minSum {
			best, minSum = penalty, sum
		}
	}
	return solve(ctx, rows, columns, y, best)
}

// solve solves (XᵀX + λnI) w = Xᵀ(y − mean) by conjugate gradients, where X has the rows minus their
// mean m (Hestenes and Stiefel, Journal of Research of the NBS 49, 1952). The cost of a step is
// proportional to the number of nonzero inputs.
func solve(ctx context.Context, rows [][]feature, columns int, y []float64, penalty float64) (*ridgeModel, error) {
	n := float64(len(rows))
	l := &ridgeModel{weights: make([]float64, columns)}
	m := make([]float64, columns)
	for i, x := range rows {
		l.mean += y[i] / n
		for _, f := range x {
			m[f.bucket] += float64(f.weight) / n
		}
	}
	r := make([]float64, columns) // residual at w = 0; m cancels, because Σ(y − mean) = 0
	for i, x := range rows {
		for _, f := range x {
			r[f.bucket] += float64(f.weight) * (y[i] - l.mean)
		}
	}
	p, q := slices.Clone(r), make([]float64, columns)
	norm := dense(r, r)
	const small = 1e-12
	for end, step := small*norm, 0; norm > end && step < ridgeSteps; step++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		centre := dense(m, p)
		for j := range q {
			q[j] = n * penalty * p[j]
		}
		for _, x := range rows {
			xp := -centre // the sum of xp over the rows is 0, so m cancels here as well
			for _, f := range x {
				xp += float64(f.weight) * p[f.bucket]
			}
			for _, f := range x {
				q[f.bucket] += float64(f.weight) * xp
			}
		}
		along, before := norm/dense(p, q), norm
		for j := range p {
			l.weights[j] += along * p[j]
			r[j] -= along * q[j]
		}
		norm = dense(r, r)
		for j := range p {
			p[j] = r[j] + norm/before*p[j]
		}
	}
	l.centre = dense(m, l.weights)
	return l, nil
}

func dense(a, b []float64) (sum float64) {
	for j, v := range a {
		sum += v * b[j]
	}
	return sum
}

// standardise renumbers the buckets of both splits from 0 and divides the inputs by their standard
// deviation in the training rows. It drops buckets that do not vary in the training rows. It returns the
// number of remaining columns.
func standardise(train, test [][]feature) (columns int) {
	sum, squares := make([]float64, buckets), make([]float64, buckets)
	n := float64(len(train))
	for _, x := range train {
		for _, f := range x {
			v := float64(f.weight)
			sum[f.bucket] += v
			squares[f.bucket] += v * v
		}
	}
	number, scale := make([]int, buckets), make([]float32, buckets)
	for j := range number {
		if variance := (squares[j] - sum[j]*sum[j]/n) / n; variance > 1e-9*squares[j]/n {
			number[j], scale[j] = columns, float32(1/math.Sqrt(variance))
			columns++
		}
	}
	for _, rows := range [][][]feature{train, test} {
		for i, x := range rows {
			x = slices.DeleteFunc(x, func(f feature) bool { return scale[f.bucket] == 0 })
			for k, f := range x {
				x[k] = feature{uint32(number[f.bucket]), f.weight * scale[f.bucket]}
			}
			rows[i] = x
		}
	}
	return columns
}
