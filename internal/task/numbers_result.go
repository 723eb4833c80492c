package task

import (
	"context"
	"fmt"
	"io"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/seq"
)

// NumbersResult is what eval prints of a model that predicts numbers.
type NumbersResult struct {
	Evaluated
	Rows    int            `json:"rows"`
	Loss    float64        `json:"loss"` // mean over the numbers, standardised
	MAE     float64        `json:"mae"`  // mean over the numbers, each in its own unit
	R2      *float64       `json:"r2"`   // mean over the numbers that define it
	Numbers []NumberResult `json:"numbers"`

	linear string // name of the linear model
}

// NumberResult is what is reached on one number, in its own unit.
type NumberResult struct {
	Name string   `json:"name"`
	MAE  float64  `json:"mae"`
	RMSE float64  `json:"rmse"`
	R2   *float64 `json:"r2"` // null where all rows have the same number
	// Mean is what the mean of the training split reaches, which the model has of its data.
	Mean NumberBaseline `json:"baseline_mean"`
	// Linear is what a linear model of a bag of tokens and neighbours, or of sums of features, reaches,
	// where the rows are a split of a data set, whose training split it learns from.
	Linear *NumberBaseline `json:"baseline_linear,omitempty"`
}

// TrainingMean is the simplest model of numbers.
const TrainingMean = "mean of the training split"

// NumberBaseline has the scores of a baseline on a number.
type NumberBaseline struct {
	MAE  float64  `json:"mae"`
	RMSE float64  `json:"rmse"`
	R2   *float64 `json:"r2"`
}

func (r *NumbersResult) Write(w io.Writer) error {
	out := &text{}
	mean := ""
	if len(r.Numbers) > 1 {
		mean = fmt.Sprintf("MAE %.4f, ", r.MAE)
	}
	out.add("%s: %d rows, loss %.4f, %sR² %s", r.Title(), r.Rows, r.Loss, mean, OrNone(r.R2))
	out.add("%-20s  %-36s  %12s  %12s  %8s", "number", "of", "MAE", "RMSE", "R²")
	for _, n := range r.Numbers {
		out.add("%-20s  %-36s  %12.6g  %12.6g  %8s", n.Name, "the model", n.MAE, n.RMSE, OrNone(n.R2))
		if l := n.Linear; l != nil {
			out.add("%-20s  %-36s  %12.6g  %12.6g  %8s", "", r.linear, l.MAE, l.RMSE, OrNone(l.R2))
		}
		out.add("%-20s  %-36s  %12.6g  %12.6g  %8s", "", TrainingMean, n.Mean.MAE, n.Mean.RMSE, OrNone(n.Mean.R2))
	}
	if err := out.to(w); err != nil {
		return err
	}
	return r.advise(w, r.baselines(), OrNaN(r.R2), Named("R²"))
}

// baselines returns the baselines, each with its mean R² over the numbers that define it.
func (r *NumbersResult) baselines() []Score {
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
	out := []Score{{Name: TrainingMean, Value: mean / n}}
	if known {
		out = append(out, Score{Name: r.linear, Value: linear / n})
	}
	return out
}

// measureLinear adds what a linear model reaches on the split, if the data set has a split to learn
// it from.
func (r *NumbersResult) measureLinear(ctx context.Context, dir string, window int) error {
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
		l := &NumberBaseline{MAE: n.MAE, RMSE: n.RMSE}
		if n.Defined {
			l.R2 = &n.R2
		}
		r.Numbers[i].Linear = l
	}
	return nil
}
