package task

import (
	"context"
	"fmt"
	"io"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/seq"
)

// NumbersResult is the output of eval for a regression model.
type NumbersResult struct {
	Evaluated
	Rows    int            `json:"rows"`
	Loss    float64        `json:"loss"` // mean over the standardised numbers
	MAE     float64        `json:"mae"`  // mean over the numbers, each in its own unit
	R2      *float64       `json:"r2"`   // mean over the numbers with a defined R²
	Numbers []NumberResult `json:"numbers"`

	linear string // name of the linear model
}

// NumberResult has the scores on one number, in its own unit.
type NumberResult struct {
	Name string   `json:"name"`
	MAE  float64  `json:"mae"`
	RMSE float64  `json:"rmse"`
	R2   *float64 `json:"r2"` // null if all rows have the same number
	// Mean has the scores of predicting the mean of the training split.
	Mean NumberBaseline `json:"baseline_mean"`
	// Linear has the scores of [baseline.Ridge], a linear model that is trained on the training split.
	// It is nil if the rows are not a split of a data set with a training split, or if Ridge returns nil.
	Linear *NumberBaseline `json:"baseline_linear,omitempty"`
}

// TrainingMean is the name of the baseline that always predicts the mean.
const TrainingMean = "mean of the training split"

// NumberBaseline has the scores of a baseline on one number.
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
	out.add("%s: %s, loss %.4f, %sR² %s", r.Title(), countRows(r.Rows), r.Loss, mean, OrNone(r.R2))
	out.add("%-20s  %-36s  %12s  %12s  %8s", "number", "model or baseline", "MAE", "RMSE", "R²")
	for _, n := range r.Numbers {
		out.add("%-20s  %-36s  %12.6g  %12.6g  %8s", n.Name, "the model", n.MAE, n.RMSE, OrNone(n.R2))
		if l := n.Linear; l != nil {
			out.add("%-20s  %-36s  %12.6g  %12.6g  %8s", "", r.linear, l.MAE, l.RMSE, OrNone(l.R2))
		}
		out.add("%-20s  %-36s  %12.6g  %12.6g  %8s", "", TrainingMean, n.Mean.MAE, n.Mean.RMSE, OrNone(n.Mean.R2))
	}
	if err := out.writeTo(w); err != nil {
		return err
	}
	return r.advise(w, r.baselines(), OrNaN(r.R2), Named("R²"))
}

// baselines returns each baseline with its mean R² over the numbers with a defined R².
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

// measureLinear adds the scores of a linear model on the split, if the data set has a training
// split.
func (r *NumbersResult) measureLinear(ctx context.Context, dir string, window seq.Window) error {
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
