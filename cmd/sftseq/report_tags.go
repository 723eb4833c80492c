package main

import (
	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/report"
	"github.com/sftseq/sftseq/sft"
)

// measureTags measures a model of tagging, and keeps the rows that are picked.
func measureTags(c *cli.Context, m *sft.Model, in *reportRows, dir string) (*report.Tags, error) {
	kind, pick := newTagKind(m.Config), evaluation.NewTagPicker(m.Config, c.Int("examples"))
	if err := kind.compare(in.dir); err != nil {
		return nil, err
	}
	if err := in.measure(c, m, dir, kind, pick.See); err != nil {
		return nil, err
	}
	r, err := kind.result(in.evaluated())
	if err != nil {
		return nil, err
	}
	out := &report.Tags{Data: in.name, Note: in.note, Rows: r.Rows, Tokens: r.Tokens, CutTags: r.CutTags, Loss: r.Loss, Spans: *r.Spans, ByType: r.ByType, Examples: pick.Rows()}
	out.Lines = append(out.Lines, report.TagLine{Of: "the model", Accuracy: r.Accuracy, MacroF1: r.MacroF1, SpanF1: r.Spans.F1})
	for _, b := range r.Baselines {
		out.Lines = append(out.Lines, report.TagLine{Of: b.Name, Accuracy: b.Accuracy, MacroF1: b.MacroF1, SpanF1: *b.SpanF1})
	}
	return out, nil
}
