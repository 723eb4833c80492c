package main

import (
	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/report"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// measureNodeTags measures a model that tags tokens with features, and keeps the rows that are
// picked.
func measureNodeTags(c *cli.Context, m *sft.Model, in *reportRows, dir string) (*report.NodeTags, error) {
	kind, pick := newTagKind(m.Config), evaluation.NewNodeTagPicker(m.Config, c.Int("examples"))
	if err := kind.compare(in.dir); err != nil {
		return nil, err
	}
	parts, among := kind.tally.Parts, metrics.NewTagging(m.Config.LabelNames, m.Config.NumLabels)
	err := in.measure(c, m, dir, kind, func(x *seq.Example, length int, logits []float32) {
		pick.See(x, length, logits)
		if parts != nil {
			among.Add(x.Labels, parts.Among(x.Labels, logits))
		}
	})
	if err != nil {
		return nil, err
	}
	r, err := kind.result(in.evaluated())
	if err != nil {
		return nil, err
	}
	if parts != nil { // as the simple models, which know the category
		r.ByTag = among.Tags(m.Config.LabelNames)
	}
	out := &report.NodeTags{Data: in.name, Note: in.note, Rows: r.Rows, Tokens: r.Tokens, CutTags: r.CutTags, Loss: r.Loss, Examples: pick.Rows()}
	line := report.NodeTagLine{Of: "the model", Accuracy: r.Accuracy, MacroF1: r.MacroF1}
	if p := r.Parts; p != nil {
		line.Accuracy, line.InstanceIoU, line.ClassIoU = p.Accuracy, &p.InstanceIoU, &p.ClassIoU
	}
	out.Lines = append(out.Lines, line)
	for _, b := range r.Baselines {
		out.Lines = append(out.Lines, report.NodeTagLine{Of: b.Name, Accuracy: b.Accuracy, MacroF1: b.MacroF1, InstanceIoU: b.InstanceIoU, ClassIoU: b.ClassIoU})
	}
	simpleScores := make([]tagScores, len(kind.simple))
	for i, s := range kind.simple {
		simpleScores[i] = scoresOf(m.Config, s.tally)
	}
	for _, t := range r.ByTag {
		row := report.TagRow{Name: t.Name, Count: t.Tokens, Scores: []float64{t.F1}}
		for _, s := range simpleScores {
			row.Scores = append(row.Scores, s.f1(t.Tag))
		}
		out.Tags = append(out.Tags, row)
	}
	if r.Parts == nil {
		return out, nil
	}
	for i, category := range r.Parts.Categories {
		row := report.TagRow{Name: category.Category, Count: category.Shapes, Scores: []float64{category.IoU}}
		for _, s := range simpleScores {
			row.Scores = append(row.Scores, s.Parts.Categories[i].IoU) // the labels say which there are
		}
		out.Categories = append(out.Categories, row)
	}
	return out, nil
}

// f1 is that of a tag, 0 where it is neither label nor answer.
func (s *tagScores) f1(tag int) float64 {
	for _, t := range s.ByTag {
		if t.Tag == tag {
			return t.F1
		}
	}
	return 0
}
