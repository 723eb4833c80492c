package main

import (
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// numbersResult is what eval prints of a model that predicts numbers.
type numbersResult struct {
	evaluated
	Rows    int            `json:"rows"`
	Loss    float64        `json:"loss"` // mean over the numbers, standardised
	MAE     float64        `json:"mae"`  // mean over the numbers, each in its own unit
	R2      *float64       `json:"r2"`   // mean over the numbers that define it
	Numbers []numberResult `json:"numbers"`

	linear string // what the linear model is called
}

// numberResult is what is reached on one number, in its own unit.
type numberResult struct {
	Name string   `json:"name"`
	MAE  float64  `json:"mae"`
	RMSE float64  `json:"rmse"`
	R2   *float64 `json:"r2"` // null where all rows have the same number
	// Mean is what the mean of the training split reaches, which the model has of its data.
	Mean baselineNumber `json:"baseline_mean"`
	// Linear is what a linear model of a bag of tokens and neighbours, or of sums of features, reaches,
	// where the rows are a split of a data set, whose training split it learns from.
	Linear *baselineNumber `json:"baseline_linear,omitempty"`
}

// trainingMean is the simplest model of numbers.
const trainingMean = "mean of the training split"

// baselineNumber is what a simple model reaches on a number.
type baselineNumber struct {
	MAE  float64  `json:"mae"`
	RMSE float64  `json:"rmse"`
	R2   *float64 `json:"r2"`
}

func (r *numbersResult) write(w io.Writer) error {
	out := &lines{w: w}
	mean := ""
	if len(r.Numbers) > 1 {
		mean = fmt.Sprintf("MAE %.4f, ", r.MAE)
	}
	out.add("%s: %d rows, loss %.4f, %sR² %s", r.title(), r.Rows, r.Loss, mean, defined(r.R2))
	out.add("%-20s  %-36s  %12s  %12s  %8s", "number", "of", "MAE", "RMSE", "R²")
	for _, n := range r.Numbers {
		out.add("%-20s  %-36s  %12.6g  %12.6g  %8s", n.Name, "the model", n.MAE, n.RMSE, defined(n.R2))
		if l := n.Linear; l != nil {
			out.add("%-20s  %-36s  %12.6g  %12.6g  %8s", "", r.linear, l.MAE, l.RMSE, defined(l.R2))
		}
		out.add("%-20s  %-36s  %12.6g  %12.6g  %8s", "", trainingMean, n.Mean.MAE, n.Mean.RMSE, defined(n.Mean.R2))
	}
	if out.err != nil {
		return out.err
	}
	return r.advise(w, r.baselines(), orNaN(r.R2), named("R²"))
}

// baselines are the simple models, each with its mean R² over the numbers that define it.
func (r *numbersResult) baselines() []simpleScore {
	var mean, linear, n float64
	known := len(r.Numbers) > 0
	for _, x := range r.Numbers {
		if x.R2 == nil {
			continue
		}
		n++
		mean += *x.Mean.R2
		if known = known && x.Linear != nil; known {
			linear += *x.Linear.R2
		}
	}
	if n == 0 {
		return nil
	}
	out := []simpleScore{{name: trainingMean, value: mean / n}}
	if known {
		out = append(out, simpleScore{name: r.linear, value: linear / n})
	}
	return out
}

// evalNumbers measures how far the predictions of a regression are from the numbers of rows.
func evalNumbers(c *cli.Context, m models) error {
	in, err := openEvalRows(c, m)
	if err != nil {
		return err
	}
	defer in.close()
	r := &numbersResult{evaluated: in.evaluated(c)}
	err = in.measure(c, func(e *evaluation.Evaluation, rows *seq.Reader, done func(int64)) error {
		return r.measure(c.Context, e, rows, done)
	})
	if err == nil {
		err = in.wrong.commit(c)
	}
	if err != nil {
		return err
	}
	if r.Split != "" {
		if err := r.measureLinear(c.Context, r.Data, m.Config.TruncatesAt()); err != nil {
			return err
		}
	}
	return show(c, r, r.write)
}

// measureLinear adds what a linear model reaches on the split, if the data set has a split to learn
// it from.
func (r *numbersResult) measureLinear(ctx context.Context, dir string, window int) error {
	set, err := seq.OpenDataset(dir)
	if err != nil || set.Manifest.Splits["train"].Rows == 0 {
		return err
	}
	r.linear = baseline.RidgeName(set.Manifest)
	numbers, err := baseline.Ridge(ctx, set, r.Split, window)
	if err != nil {
		return err
	}
	for i, n := range numbers {
		l := &baselineNumber{MAE: n.MAE, RMSE: n.RMSE}
		if n.Defined {
			l.R2 = &n.R2
		}
		r.Numbers[i].Linear = l
	}
	return nil
}

// measure reads all rows.
func (r *numbersResult) measure(ctx context.Context, e *evaluation.Evaluation, in *seq.Reader, done func(int64)) error {
	config := e.Scorer.Config()
	tally, mean := &evaluation.Numbers{Regression: metrics.NewRegression(config.NumLabels)}, metrics.NewRegression(config.NumLabels)
	always, seen := config.Predictions(make([]float32, config.NumLabels)), e.Seen
	e.Measure, e.Seen = tally, func(x *seq.Example, length int, logits []float32) {
		mean.Add(always, x.Numbers)
		if seen != nil {
			seen(x, length, logits)
		}
	}
	if err := e.Run(ctx, in, done); err != nil {
		return err
	}
	return r.report(config, tally, mean, e.Name)
}

// report says what the model reaches, and the mean of the training split.
func (r *numbersResult) report(config *sft.Config, tally *evaluation.Numbers, mean *metrics.Regression, path string) error {
	if r.Rows = tally.Rows(); r.Rows == 0 {
		return fmt.Errorf("%s: no rows that were measured, at least 1 was expected", path)
	}
	r.MAE = tally.MAE()
	r.Loss = tally.Loss / float64(r.Rows*config.NumLabels)
	if r2, ok := tally.R2(); ok {
		r.R2 = &r2
	}
	simple := mean.Numbers()
	for i, n := range tally.Numbers() {
		x := numberResult{Name: config.Numbers[i].Name, MAE: n.MAE, RMSE: n.RMSE, Mean: baselineNumber{MAE: simple[i].MAE, RMSE: simple[i].RMSE}}
		if n.Defined {
			x.R2, x.Mean.R2 = &n.R2, &simple[i].R2
		}
		r.Numbers = append(r.Numbers, x)
	}
	return nil
}
