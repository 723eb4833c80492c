package task

import (
	"context"
	"fmt"
	"math"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/report"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// numberEvaluator measures predicted numbers and, as a baseline, the mean of the training split.
type numberEvaluator struct {
	baseEvaluator
	config   *sft.Config
	tally    *evaluation.Numbers
	mean     *metrics.Regression
	constant []float32 // mean of the training split, the prediction for logits of 0
}

func newNumberEvaluator(c *sft.Config) *numberEvaluator {
	return &numberEvaluator{config: c, tally: &evaluation.Numbers{Regression: metrics.NewRegression(c.NumLabels)},
		mean: metrics.NewRegression(c.NumLabels), constant: c.Predictions(make([]float32, c.NumLabels))}
}

func (k *numberEvaluator) Measure() evaluation.Measure { return k.tally }

func (k *numberEvaluator) See(x *seq.Example, _ []float32, _ int64) {
	k.mean.Add(k.constant, x.Numbers)
}

func (k *numberEvaluator) Report(ctx context.Context, evaluated Evaluated) (Report, error) {
	return k.result(ctx, evaluated)
}

// result returns the metrics of the model and of the mean. If the rows are a split of a data set with
// a training split, it also returns the metrics of a linear model.
func (k *numberEvaluator) result(ctx context.Context, evaluated Evaluated) (*NumbersResult, error) {
	r := &NumbersResult{Evaluated: evaluated, Rows: k.tally.Rows()}
	if r.Rows == 0 {
		return nil, fmt.Errorf("%s: found no evaluated rows, expected at least 1", evaluated.rowsIn())
	}
	r.MAE = k.tally.MAE()
	r.Loss = k.tally.Loss / float64(r.Rows*k.config.NumLabels)
	if r2, ok := k.tally.R2(); ok {
		r.R2 = &r2
	}
	baselines := k.mean.Numbers()
	for i, n := range k.tally.Numbers() {
		x := NumberResult{Name: k.config.Numbers[i].Name, MAE: n.MAE, RMSE: n.RMSE,
			Mean: NumberBaseline{MAE: baselines[i].MAE, RMSE: baselines[i].RMSE}}
		if n.Defined {
			x.R2, x.Mean.R2 = &n.R2, &baselines[i].R2
		}
		r.Numbers = append(r.Numbers, x)
	}
	if evaluated.Split == "" {
		return r, nil
	}
	return r, r.measureLinear(ctx, evaluated.Data, k.config.ReadWindow())
}

func (k *numberEvaluator) Columns() []table.OutputColumn {
	return []table.OutputColumn{{Name: partNumbers, Kind: table.VectorColumn, Width: k.config.NumLabels},
		logitColumn(k.config)}
}

func (k *numberEvaluator) Values(x *seq.Example, logits []float32, _ int64) []any {
	return []any{x.Numbers, logits}
}

func (k *numberEvaluator) Add(p *PartColumns, i int) error {
	numbers := p.vector(partNumbers, i)
	k.tally.Count(k.config, numbers, p.vector(partLogits, i))
	k.mean.Add(k.constant, numbers)
	return nil
}

// Evaluator returns an evaluator of numbers.
func (t numbers) Evaluator() Evaluator { return newNumberEvaluator(t.config) }

// Page returns a page that measures numbers and keeps some rows for the plots.
func (t numbers) Page(in PageInput) *Page {
	out := &report.Numbers{Data: in.Name, Note: in.Note, Numbers: make([]report.Number, t.config.NumLabels)}
	stride := max(1, int((in.Rows+report.MaxPoints-1)/report.MaxPoints)) // 1 if the number of rows is unknown
	k := newNumberEvaluator(t.config)
	collectPoints := func(x *seq.Example, _ int, logits []float32) {
		if out.Rows++; (out.Rows-1)%stride != 0 || len(out.Numbers[0].Points) == report.MaxPoints {
			return
		}
		for i, predicted := range t.config.Predictions(logits) {
			n := &out.Numbers[i]
			n.Points = append(n.Points, report.NumberPoint{Number: x.Numbers[i], Predicted: predicted})
		}
	}
	return &Page{Evaluator: k, Seen: collectPoints, Fill: func(ctx context.Context, _ *sft.Scorer,
		run *report.Run) error {
		r, err := k.result(ctx, in.evaluated())
		if err != nil {
			return err
		}
		for i, n := range r.Numbers {
			lines := []report.NumberLine{{Of: "the model", MAE: n.MAE, RMSE: n.RMSE, R2: n.R2}}
			if l := n.Linear; l != nil {
				lines = append(lines, report.NumberLine{Of: r.linear, MAE: l.MAE, RMSE: l.RMSE, R2: l.R2})
			}
			out.Numbers[i].Name = n.Name
			out.Numbers[i].Lines = append(lines, report.NumberLine{Of: TrainingMean, MAE: n.Mean.MAE,
				RMSE: n.Mean.RMSE, R2: n.Mean.R2})
		}
		run.Numbers = out
		return nil
	}}
}

// Baselines returns the scores of the training split's mean and of a linear model.
func (t numbers) Baselines(ctx context.Context, set *seq.Dataset, by string) ([]Score, error) {
	config := t.config
	mean := &evaluation.Numbers{Regression: metrics.NewRegression(config.NumLabels)}
	zeros := make([]float32, config.NumLabels) // the mean, standardised
	err := forEachRow(set, config, func(x *seq.Example) {
		if x.Numbers != nil {
			mean.Count(config, x.Numbers, zeros)
		}
	})
	if err != nil || mean.Rows() == 0 {
		return nil, err
	}
	describe := func(mae, r2 float64, defined bool) (out string) {
		if defined {
			out += fmt.Sprintf(" R² %.4f", r2)
		}
		if by == "mae" {
			out += fmt.Sprintf(" MAE %.4f", mae)
		}
		return out
	}
	value := func(mae, r2 float64, defined bool) float64 {
		switch {
		case by == "mae":
			return -mae
		case defined:
			return r2
		}
		return math.NaN()
	}
	r2, defined := mean.R2()
	scores := []Score{{TrainingMean, fmt.Sprintf("%s loss %.4f%s", TrainingMean,
		mean.Loss/float64(mean.Rows()*config.NumLabels), describe(mean.MAE(), r2, defined)),
		value(mean.MAE(), r2, defined)}}
	linear, err := baseline.Ridge(ctx, set, "val", config.ReadWindow())
	if err != nil || linear == nil {
		return scores, err
	}
	mae, sum, n := 0.0, 0.0, 0
	for _, x := range linear {
		if mae += x.MAE / float64(len(linear)); x.Defined {
			sum, n = sum+x.R2, n+1
		}
	}
	if r2 := sum / float64(max(1, n)); describe(mae, r2, n > 0) != "" {
		name := baseline.RidgeName(set.Manifest)
		scores = append(scores, Score{name, name + describe(mae, r2, n > 0), value(mae, r2, n > 0)})
	}
	return scores, nil
}
