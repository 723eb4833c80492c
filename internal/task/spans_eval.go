package task

import (
	"context"

	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/report"
	"github.com/sftseq/sftseq/sft"
)

// Evaluator returns an evaluator of token tags and their spans.
func (t spans) Evaluator() Evaluator { return newTagEvaluator(t.config) }

// Page returns a page that measures spans and keeps some rows to show.
func (t spans) Page(in PageInput) *Page {
	k, pick := newTagEvaluator(t.config), evaluation.NewTagPicker(t.config, in.Examples)
	return &Page{Evaluator: k, Seen: pick.See, begin: func() error { return k.addBaselines(in.Dir) },
		Fill: func(_ context.Context, _ *sft.Scorer, run *report.Run) error {
			r, err := k.result(in.evaluated())
			if err != nil {
				return err
			}
			out := &report.Tags{Data: in.Name, Note: in.Note, Rows: r.Rows, Tokens: r.Tokens, CutTags: r.CutTags,
				Loss: r.Loss, Spans: *r.Spans, ByType: r.ByType, Examples: pick.Rows()}
			out.Lines = append(out.Lines, report.TagLine{Of: "the model", Accuracy: r.Accuracy,
				MacroF1: r.MacroF1, SpanF1: r.Spans.F1})
			for _, b := range r.Baselines {
				out.Lines = append(out.Lines, report.TagLine{Of: b.Name, Accuracy: b.Accuracy,
					MacroF1: b.MacroF1, SpanF1: *b.SpanF1})
			}
			run.Tags = out
			return nil
		}}
}
