package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/report"
	"github.com/sftseq/sftseq/sft"
)

// measureNumbers evaluates a model of numbers as eval does, and keeps some rows for the pictures.
func measureNumbers(c *cli.Context, m *sft.Model, in *reportRows, dir string) (*report.Numbers, error) {
	reader, err := in.open()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	if err := fits(m.Config, reader.Spec()); err != nil {
		return nil, fmt.Errorf("%s does not fit the model %s: %w", in.path, dir, err)
	}
	if reader.Spec().NumberNames == nil {
		return nil, fmt.Errorf("%s: expected the numbers %q to compare with, found none", in.path, m.Config.NumberNames())
	}
	scorer, release, err := openScorer(c, m)
	if err != nil {
		return nil, err
	}
	defer release()
	r := &numbersResult{Split: in.split}
	out := &report.Numbers{Data: in.name, Note: in.note, Numbers: make([]report.Number, m.Config.NumLabels)}
	every := max(1, int((in.rows+report.MostPoints-1)/report.MostPoints)) // where the number of rows is known
	r.seen = func(predicted, numbers []float32) {
		if out.Rows++; (out.Rows-1)%every != 0 || len(out.Numbers[0].Points) == report.MostPoints {
			return
		}
		for i := range numbers {
			n := &out.Numbers[i]
			n.Points = append(n.Points, report.NumberPoint{Number: numbers[i], Predicted: predicted[i]})
		}
	}
	p := newProgress(in.rows, "evaluating", "rows")
	err = r.measure(c.Context, m.Config, reader, scorer.Examples, p.Add)
	p.Finish()
	if err == nil && in.set != nil {
		err = r.measureLinear(c.Context, in.set.Dir, m.Config.TruncatesAt())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.path, err)
	}
	for i, n := range r.Numbers {
		lines := []report.NumberLine{{Of: "the model", MAE: n.MAE, RMSE: n.RMSE, R2: n.R2}}
		if l := n.Linear; l != nil {
			lines = append(lines, report.NumberLine{Of: ridge, MAE: l.MAE, RMSE: l.RMSE, R2: l.R2})
		}
		out.Numbers[i].Name = n.Name
		out.Numbers[i].Lines = append(lines, report.NumberLine{Of: trainingMean, MAE: n.Mean.MAE, RMSE: n.Mean.RMSE, R2: n.Mean.R2})
	}
	return out, nil
}
