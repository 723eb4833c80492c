package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/report"
	"github.com/sftseq/sftseq/sft"
)

// measureLabels evaluates the model of several labels of a run as eval does.
func measureLabels(c *cli.Context, m *sft.Model, in *reportRows, dir string) (*report.Labels, error) {
	reader, err := in.open()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	if err := fits(m.Config, reader.Spec()); err != nil {
		return nil, fmt.Errorf("%s does not fit the model %s: %w", in.path, dir, err)
	}
	scorer, release, err := openScorer(c, m)
	if err != nil {
		return nil, err
	}
	defer release()
	var frequencies []float64
	if in.set != nil {
		frequencies = frequenciesOf(in.set.Dir)
	}
	r := &labelsResult{}
	p := newProgress(in.rows, "evaluating", "rows")
	err = r.measure(c.Context, scorer, reader, in.path, scorer.Examples, frequencies, p.Add)
	p.Finish()
	if err != nil {
		return nil, err
	}
	out := &report.Labels{Data: in.name, Note: in.note, Report: r.MultiLabelReport, Frequencies: r.simple}
	for label := range m.Config.NumLabels {
		if curve := r.tally.Curve(label); curve != nil {
			out.Curves = append(out.Curves, *curve)
		}
	}
	return out, nil
}
