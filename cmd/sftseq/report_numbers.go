package main

import (
	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/report"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// measureNumbers measures a model of numbers, and keeps some rows for the pictures.
func measureNumbers(c *cli.Context, m *sft.Model, in *reportRows, dir string) (*report.Numbers, error) {
	out := &report.Numbers{Data: in.name, Note: in.note, Numbers: make([]report.Number, m.Config.NumLabels)}
	every := max(1, int((in.rows+report.MostPoints-1)/report.MostPoints)) // where the number of rows is known
	kind := newNumberKind(m.Config)
	err := in.measure(c, m, dir, kind, func(x *seq.Example, _ int, logits []float32) {
		if out.Rows++; (out.Rows-1)%every != 0 || len(out.Numbers[0].Points) == report.MostPoints {
			return
		}
		for i, predicted := range m.Config.Predictions(logits) {
			n := &out.Numbers[i]
			n.Points = append(n.Points, report.NumberPoint{Number: x.Numbers[i], Predicted: predicted})
		}
	})
	if err != nil {
		return nil, err
	}
	r, err := kind.result(c.Context, in.evaluated())
	if err != nil {
		return nil, err
	}
	for i, n := range r.Numbers {
		lines := []report.NumberLine{{Of: "the model", MAE: n.MAE, RMSE: n.RMSE, R2: n.R2}}
		if l := n.Linear; l != nil {
			lines = append(lines, report.NumberLine{Of: r.linear, MAE: l.MAE, RMSE: l.RMSE, R2: l.R2})
		}
		out.Numbers[i].Name = n.Name
		out.Numbers[i].Lines = append(lines, report.NumberLine{Of: trainingMean, MAE: n.Mean.MAE, RMSE: n.Mean.RMSE, R2: n.Mean.R2})
	}
	return out, nil
}
