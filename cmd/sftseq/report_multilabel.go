package main

import (
	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/report"
	"github.com/sftseq/sftseq/sft"
)

// measureLabels measures a model of several labels.
func measureLabels(c *cli.Context, m *sft.Model, in *reportRows, dir string) (*report.Labels, error) {
	kind := newLabelKind(m.Config)
	kind.frequent = logitsOf(frequenciesOf(in.dir))
	if err := in.measure(c, m, dir, kind, nil); err != nil {
		return nil, err
	}
	r, err := kind.result(in.evaluated())
	if err != nil {
		return nil, err
	}
	out := &report.Labels{Data: in.name, Note: in.note, Report: r.MultiLabelReport, Frequencies: r.simple}
	if m.Config.NumLabels > metrics.MaxConfusion {
		return out, nil // the points of more curves take gigabytes
	}
	for label := range m.Config.NumLabels {
		if curve := kind.tally.Curve(label); curve != nil {
			out.Curves = append(out.Curves, *curve)
		}
	}
	return out, nil
}
