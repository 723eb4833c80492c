package main

import (
	"context"
	"fmt"
	"io"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/table"
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

// numberKind measures the numbers of rows, beside the mean of the training split.
type numberKind struct {
	aloneKind
	config *sft.Config
	tally  *evaluation.Numbers
	mean   *metrics.Regression
	always []float32 // that mean
}

func newNumberKind(c *sft.Config) *numberKind {
	return &numberKind{config: c, tally: &evaluation.Numbers{Regression: metrics.NewRegression(c.NumLabels)},
		mean: metrics.NewRegression(c.NumLabels), always: c.Predictions(make([]float32, c.NumLabels))}
}

func (k *numberKind) measure() evaluation.Measure { return k.tally }

func (k *numberKind) see(x *seq.Example, _ []float32, _ int64) { k.mean.Add(k.always, x.Numbers) }

func (k *numberKind) report(ctx context.Context, of evaluated) (evalReport, error) {
	return k.result(ctx, of)
}

// result measures the model, and where the rows are a split of a data set, a linear model.
func (k *numberKind) result(ctx context.Context, of evaluated) (*numbersResult, error) {
	r := &numbersResult{evaluated: of, Rows: k.tally.Rows()}
	if r.Rows == 0 {
		return nil, fmt.Errorf("%s: no rows that were measured, at least 1 was expected", of.rowsIn())
	}
	r.MAE = k.tally.MAE()
	r.Loss = k.tally.Loss / float64(r.Rows*k.config.NumLabels)
	if r2, ok := k.tally.R2(); ok {
		r.R2 = &r2
	}
	simple := k.mean.Numbers()
	for i, n := range k.tally.Numbers() {
		x := numberResult{Name: k.config.Numbers[i].Name, MAE: n.MAE, RMSE: n.RMSE, Mean: baselineNumber{MAE: simple[i].MAE, RMSE: simple[i].RMSE}}
		if n.Defined {
			x.R2, x.Mean.R2 = &n.R2, &simple[i].R2
		}
		r.Numbers = append(r.Numbers, x)
	}
	if of.Split == "" {
		return r, nil
	}
	return r, r.measureLinear(ctx, of.Data, k.config.TruncatesAt())
}

func (k *numberKind) columns() []table.OutputColumn {
	return []table.OutputColumn{{Name: partNumbers, Kind: table.VectorColumn, Width: k.config.NumLabels}, logitColumn(k.config)}
}

func (k *numberKind) values(x *seq.Example, logits []float32, _ int64) []any {
	return []any{x.Numbers, logits}
}

func (k *numberKind) add(p *partColumns, i int) error {
	numbers := p.vector(partNumbers, i)
	k.tally.Count(k.config, numbers, p.vector(partLogits, i))
	k.mean.Add(k.always, numbers)
	return nil
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
