package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// numbersResult is what eval prints of a model that predicts numbers.
type numbersResult struct {
	Model string `json:"model"`
	Data  string `json:"data"`
	Split string `json:"split,omitempty"`
	trained
	Rows    int            `json:"rows"`
	Loss    float64        `json:"loss"` // mean over the numbers, standardised
	R2      *float64       `json:"r2"`   // mean over the numbers that define it
	Numbers []numberResult `json:"numbers"`

	seen func(predicted, numbers []float32) // is told of each row; may be nil
}

// numberResult is what is reached on one number, in its own unit.
type numberResult struct {
	Name string   `json:"name"`
	MAE  float64  `json:"mae"`
	RMSE float64  `json:"rmse"`
	R2   *float64 `json:"r2"` // null where all rows have the same number
	// Mean is what the mean of the training split reaches, which the model has of its data.
	Mean baselineNumber `json:"baseline_mean"`
	// Linear is what a linear model of a bag of tokens and neighbours reaches, where the rows
	// are a split of a data set, whose training split it learns from.
	Linear *baselineNumber `json:"baseline_linear,omitempty"`
}

// The simple models of numbers.
const (
	ridge        = "bag of tokens, ridge regression"
	trainingMean = "mean of the training split"
)

// baselineNumber is what a simple model reaches on a number.
type baselineNumber struct {
	MAE  float64  `json:"mae"`
	RMSE float64  `json:"rmse"`
	R2   *float64 `json:"r2"`
}

func (r *numbersResult) write(w io.Writer) error {
	out := &lines{w: w}
	of := r.Data
	if r.Split != "" {
		of = fmt.Sprintf("the split %s of %s", r.Split, r.Data)
	}
	out.add("%s on %s: %d rows, loss %.4f, R² %s", r.Model, of, r.Rows, r.Loss, determination(r.R2))
	out.add("%-20s  %-32s  %12s  %12s  %8s", "number", "of", "MAE", "RMSE", "R²")
	for _, n := range r.Numbers {
		out.add("%-20s  %-32s  %12.6g  %12.6g  %8s", n.Name, "the model", n.MAE, n.RMSE, determination(n.R2))
		if l := n.Linear; l != nil {
			out.add("%-20s  %-32s  %12.6g  %12.6g  %8s", "", ridge, l.MAE, l.RMSE, determination(l.R2))
		}
		out.add("%-20s  %-32s  %12.6g  %12.6g  %8s", "", trainingMean, n.Mean.MAE, n.Mean.RMSE, determination(n.Mean.R2))
	}
	return out.err
}

// determination is R² as a person reads it.
func determination(r2 *float64) string {
	if r2 == nil {
		return "none"
	}
	return fmt.Sprintf("%.4f", *r2)
}

// evalNumbers measures how far the predictions of a regression are from the numbers of rows.
func evalNumbers(c *cli.Context, m *sft.Model) error {
	in, err := openEvalRows(c, m, fmt.Sprintf("the model %s predicts numbers and has no classes: sftseq predict --keep writes predictions beside the numbers", c.String("model")))
	if err != nil {
		return err
	}
	defer in.close()
	if in.Spec().NumberNames == nil {
		return fmt.Errorf("%s: expected the numbers %q to compare with, found none", in.path, m.Config.NumberNames())
	}
	r := &numbersResult{Model: c.String("model"), Data: c.String("data"), Split: in.split, trained: trainedIn(c.String("model"))}
	p := newProgress(in.total, "evaluating", "rows")
	err = r.measure(c.Context, m.Config, in.Reader, in.score, p.Add)
	p.Finish()
	if err != nil {
		return fmt.Errorf("%s: %w", in.path, err)
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
func (r *numbersResult) measure(ctx context.Context, config *sft.Config, in *seq.Reader, score func(context.Context, []seq.Example) ([]sft.Output, error), done func(int64)) error {
	tally, mean := metrics.NewRegression(config.NumLabels), metrics.NewRegression(config.NumLabels)
	always := config.Predictions(make([]float32, config.NumLabels))
	const together = 64
	for {
		rows, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		for from := 0; from < rows.Len(); from += together {
			var examples []seq.Example
			for i := from; i < min(from+together, rows.Len()); i++ {
				e := rows.Example(i)
				if e.A, err = config.Window(e.A); err == nil && e.Numbers == nil {
					err = errors.New("column numbers: expected numbers, found none")
				}
				if err != nil {
					return fmt.Errorf("row %d: %w", e.Index, err)
				}
				examples = append(examples, e)
			}
			outputs, err := score(ctx, examples)
			if err != nil {
				return err
			}
			for i, o := range outputs {
				predicted := config.Predictions(o.Logits)
				loss := config.RegressionLossOf(o.Logits, examples[i])
				if math.IsNaN(loss) || math.IsInf(loss, 0) {
					return fmt.Errorf("row %d: the model's output is not finite", examples[i].Index)
				}
				r.Loss += loss
				tally.Add(predicted, examples[i].Numbers)
				mean.Add(always, examples[i].Numbers)
				if r.seen != nil {
					r.seen(predicted, examples[i].Numbers)
				}
			}
			done(int64(len(examples)))
		}
	}
	if r.Rows = tally.Rows(); r.Rows == 0 {
		return errors.New("no rows, at least 1 was expected")
	}
	r.Loss /= float64(r.Rows * config.NumLabels)
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
