package task

import (
	"cmp"
	"io"

	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/sft"
)

// TagsResult is the output of eval for a tagging model.
type TagsResult struct {
	Evaluated
	Rows int     `json:"rows"`
	Loss float64 `json:"loss"` // mean over the labelled tokens
	TagScores
	// CutTags is the number of labels beyond the input window, which are not measured.
	CutTags int64 `json:"cut_labels,omitempty"`
	// Baselines were trained on the training split; empty if the rows are not a split of a data set
	// with a training split.
	Baselines []TagBaseline `json:"baselines,omitempty"`
}

// TagScores has the scores of predicted tags. The tags of tokens with features do not form spans.
type TagScores struct {
	Tokens   int64               `json:"tokens"` // labelled tokens
	Accuracy float64             `json:"accuracy"`
	MacroF1  float64             `json:"macro_f1"`
	Spans    *metrics.SpanScore  `json:"spans,omitempty"` // over spans of all types
	ByType   []metrics.SpanScore `json:"spans_by_type,omitempty"`
	ByTag    []metrics.TagScore  `json:"tags"`
	Parts    *PartScores         `json:"parts,omitempty"` // if tags are CATEGORY/PART
}

func scoresOf(config *sft.Config, t *evaluation.Tags) TagScores {
	out := TagScores{Tokens: t.Tokens(), Accuracy: t.Accuracy(), MacroF1: t.MacroF1(), ByTag: t.Tags(config.LabelNames),
		Parts: partScoresOf(t.Parts)}
	if !config.HasFeatures() {
		out.Spans, out.ByType = new(t.AllSpans()), t.Spans()
	}
	return out
}

// TagBaseline has the scores of a tagging baseline.
type TagBaseline struct {
	Name        string   `json:"name"`
	Accuracy    float64  `json:"accuracy"`
	MacroF1     float64  `json:"macro_f1"`
	SpanF1      *float64 `json:"span_f1,omitempty"`
	InstanceIoU *float64 `json:"instance_iou,omitempty"`
	ClassIoU    *float64 `json:"class_iou,omitempty"`
}

// maxTypes is the maximum number of printed span types, tags or categories.
const maxTypes = 40

func (r *TagsResult) Write(w io.Writer) error {
	out := &text{}
	out.add("%s: %s, %d tokens with a label, loss %.4f", r.Title(), countRows(r.Rows), r.Tokens, r.Loss)
	if r.CutTags > 0 {
		out.add("%d labels of tokens beyond the model's input window were not evaluated", r.CutTags)
	}
	switch {
	case r.Parts != nil:
		r.writeParts(out)
	case r.Spans == nil:
		r.writeTags(out)
	default:
		r.writeSpans(out)
	}
	if err := out.writeTo(w); err != nil {
		return err
	}
	return r.writeAdvice(w)
}

// writeAdvice compares the model with the baselines in the main metric of the tags.
func (r *TagsResult) writeAdvice(w io.Writer) error {
	metric, modelScore := "macro F1", r.MacroF1
	baselineScore := func(b *TagBaseline) float64 { return b.MacroF1 }
	switch {
	case r.Parts != nil:
		metric, modelScore, baselineScore = "instance IoU", r.Parts.InstanceIoU,
			func(b *TagBaseline) float64 { return OrNaN(b.InstanceIoU) }
	case r.Spans != nil:
		metric, modelScore, baselineScore = "span F1", r.Spans.F1, func(b *TagBaseline) float64 { return OrNaN(b.SpanF1) }
	}
	var scores []Score
	for i := range r.Baselines {
		scores = append(scores, Score{Name: r.Baselines[i].Name, Value: baselineScore(&r.Baselines[i])})
	}
	return r.advise(w, scores, modelScore, Named(metric))
}

// writeSpans prints the scores of spans.
func (r *TagsResult) writeSpans(out *text) {
	out.add("%-40s  %8s  %8s  %8s", "", "accuracy", "macro F1", "span F1")
	out.add("%-40s  %7.2f%%  %8.4f  %8.4f", "model", 100*r.Accuracy, r.MacroF1, r.Spans.F1)
	for _, b := range r.Baselines {
		out.add("%-40s  %7.2f%%  %8.4f  %8.4f", b.Name, 100*b.Accuracy, b.MacroF1, *b.SpanF1)
	}
	out.add("%-20s  %9s  %9s  %9s  %9s  %9s  %10s  %9s", "spans", "precision", "recall", "F1", "labels",
		"predicted", "F1 IoU≥0.5", "token F1")
	for _, s := range append([]metrics.SpanScore{*r.Spans}, r.ByType[:min(len(r.ByType), maxTypes)]...) {
		s.Type = cmp.Or(s.Type, "all")
		out.add("%-20s  %9.4f  %9.4f  %9.4f  %9d  %9d  %10.4f  %9.4f", s.Type, s.Precision, s.Recall, s.F1, s.Spans,
			s.Predicted, s.Overlap.F1, s.Tokens.F1)
	}
	if more := len(r.ByType) - maxTypes; more > 0 {
		out.add("and %d more types (--json has all)", more)
	}
	if r.Spans.Predicted == 0 {
		out.add("the model predicts 0 spans in %s", countRows(r.Rows))
	}
}

// writeTags prints the scores of tags that do not form spans.
func (r *TagsResult) writeTags(out *text) {
	out.add("%-40s  %8s  %8s", "", "accuracy", "macro F1")
	out.add("%-40s  %7.2f%%  %8.4f", "model", 100*r.Accuracy, r.MacroF1)
	for _, b := range r.Baselines {
		out.add("%-40s  %7.2f%%  %8.4f", b.Name, 100*b.Accuracy, b.MacroF1)
	}
	out.add("%-40s  %8s  %8s", "tag", "F1", "tokens")
	for _, s := range r.ByTag[:min(len(r.ByTag), maxTypes)] {
		out.add("%-40s  %8.4f  %8d", s.Name, s.F1, s.Tokens)
	}
	if more := len(r.ByTag) - maxTypes; more > 0 {
		out.add("and %d more tags (--json has all)", more)
	}
}
