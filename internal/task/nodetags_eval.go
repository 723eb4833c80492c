package task

import (
	"context"

	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/report"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// Evaluator returns an evaluator of the tags of points and nodes.
func (t nodeTags) Evaluator() Evaluator { return newTagEvaluator(t.config) }

// Page returns a page that measures tags and keeps some rows to show.
func (t nodeTags) Page(in PageInput) *Page {
	k, pick := newTagEvaluator(t.config), evaluation.NewNodeTagPicker(t.config, in.Examples)
	parts, among := k.tally.Parts, metrics.NewTagging(t.config.LabelNames, t.config.NumLabels)
	count := func(x *seq.Example, length int, logits []float32) {
		pick.See(x, length, logits)
		if parts != nil {
			among.Add(x.Labels, parts.Predict(x.Labels, logits))
		}
	}
	return &Page{Evaluator: k, Seen: count, begin: func() error { return k.addBaselines(in.Dir) },
		Fill: func(_ context.Context, _ *sft.Scorer, run *report.Run) error {
			r, err := k.result(in.evaluated())
			if err != nil {
				return err
			}
			if parts != nil { // restricted to the category, like the baselines
				r.ByTag = among.Tags(t.config.LabelNames)
			}
			out := &report.NodeTags{Data: in.Name, Note: in.Note, Rows: r.Rows, Tokens: r.Tokens, CutTags: r.CutTags,
				Loss: r.Loss, Examples: pick.Rows()}
			run.NodeTags = out
			line := report.NodeTagLine{Of: "the model", Accuracy: r.Accuracy, MacroF1: r.MacroF1}
			if p := r.Parts; p != nil {
				line.Accuracy, line.InstanceIoU, line.ClassIoU = p.Accuracy, &p.InstanceIoU, &p.ClassIoU
			}
			out.Lines = append(out.Lines, line)
			for _, b := range r.Baselines {
				out.Lines = append(out.Lines, report.NodeTagLine{Of: b.Name, Accuracy: b.Accuracy, MacroF1: b.MacroF1,
					InstanceIoU: b.InstanceIoU, ClassIoU: b.ClassIoU})
			}
			simpleScores := make([]TagScores, len(k.baselines))
			for i, s := range k.baselines {
				simpleScores[i] = scoresOf(t.config, s.tally)
			}
			for _, t := range r.ByTag {
				row := report.TagRow{Name: t.Name, Count: t.Tokens, Scores: []float64{t.F1}}
				for _, s := range simpleScores {
					row.Scores = append(row.Scores, s.f1(t.Tag))
				}
				out.Tags = append(out.Tags, row)
			}
			if r.Parts == nil {
				return nil
			}
			for i, category := range r.Parts.Categories {
				row := report.TagRow{Name: category.Category, Count: category.Shapes, Scores: []float64{category.IoU}}
				for _, s := range simpleScores {
					row.Scores = append(row.Scores, s.Parts.Categories[i].IoU) // same order as r.Parts.Categories
				}
				out.Categories = append(out.Categories, row)
			}
			return nil
		}}
}

// f1 returns the F1 of a tag, or 0 if the tag is neither labelled nor predicted.
func (s *TagScores) f1(tag int) float64 {
	for _, t := range s.ByTag {
		if t.Tag == tag {
			return t.F1
		}
	}
	return 0
}
