package main

import (
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// tagsResult is what eval prints of a model of tagging.
type tagsResult struct {
	evaluated
	Rows int     `json:"rows"`
	Loss float64 `json:"loss"` // mean over the tokens with a label
	tagScores
	// CutTags is how many labels are of tokens beyond the input window, and are not measured.
	CutTags int64 `json:"cut_labels,omitempty"`
	// Baselines are what simple models of the training split reach; none where there is no such split.
	Baselines []tagBaseline `json:"baselines,omitempty"`
}

// tagScores is what is reached on the tags of a file. Tokens with features have no order, and make
// no spans.
type tagScores struct {
	Tokens   int64               `json:"tokens"` // with a label
	Accuracy float64             `json:"accuracy"`
	MacroF1  float64             `json:"macro_f1"`
	Spans    *metrics.SpanScore  `json:"spans,omitempty"` // all of them
	ByType   []metrics.SpanScore `json:"spans_by_type,omitempty"`
	ByTag    []metrics.TagScore  `json:"tags"`
	Parts    *partScores         `json:"parts,omitempty"` // where tags are CATEGORY/PART
}

func scoresOf(config *sft.Config, t *evaluation.Tags) tagScores {
	out := tagScores{Tokens: t.Tokens(), Accuracy: t.Accuracy(), MacroF1: t.MacroF1(), ByTag: t.Tags(config.LabelNames), Parts: partScoresOf(t.Parts)}
	if !config.Featured() {
		out.Spans, out.ByType = new(t.AllSpans()), t.Spans()
	}
	return out
}

// tagBaseline is what a simple model reaches.
type tagBaseline struct {
	Name        string   `json:"name"`
	Accuracy    float64  `json:"accuracy"`
	MacroF1     float64  `json:"macro_f1"`
	SpanF1      *float64 `json:"span_f1,omitempty"`
	InstanceIoU *float64 `json:"instance_iou,omitempty"`
	ClassIoU    *float64 `json:"class_iou,omitempty"`
}

// mostTypes is how many types of spans are printed, or tags, or categories.
const mostTypes = 40

func (r *tagsResult) write(w io.Writer) error {
	out := &lines{w: w}
	out.add("%s: %d rows, %d tokens with a label, loss %.4f", r.title(), r.Rows, r.Tokens, r.Loss)
	if r.CutTags > 0 {
		out.add("%d labels more are of tokens beyond the model's input window, and are not measured", r.CutTags)
	}
	switch {
	case r.Parts != nil:
		r.writeParts(out)
	case r.Spans == nil:
		r.writeTags(out)
	default:
		r.writeSpans(out)
	}
	if out.err != nil {
		return out.err
	}
	return r.writeAdvice(w)
}

// writeAdvice compares the model with the baselines in the main measure of the tags.
func (r *tagsResult) writeAdvice(w io.Writer) error {
	measure, own := "macro F1", r.MacroF1
	of := func(b *tagBaseline) float64 { return b.MacroF1 }
	switch {
	case r.Parts != nil:
		measure, own, of = "instance IoU", r.Parts.InstanceIoU, func(b *tagBaseline) float64 { return orNaN(b.InstanceIoU) }
	case r.Spans != nil:
		measure, own, of = "span F1", r.Spans.F1, func(b *tagBaseline) float64 { return orNaN(b.SpanF1) }
	}
	var scores []simpleScore
	for i := range r.Baselines {
		scores = append(scores, simpleScore{name: r.Baselines[i].Name, value: of(&r.Baselines[i])})
	}
	return r.advise(w, scores, own, named(measure))
}

// writeSpans prints the spans of tags.
func (r *tagsResult) writeSpans(out *lines) {
	out.add("%-40s  %8s  %8s  %8s", "", "accuracy", "macro F1", "span F1")
	out.add("%-40s  %7.2f%%  %8.4f  %8.4f", "model", 100*r.Accuracy, r.MacroF1, r.Spans.F1)
	for _, b := range r.Baselines {
		out.add("%-40s  %7.2f%%  %8.4f  %8.4f", b.Name, 100*b.Accuracy, b.MacroF1, *b.SpanF1)
	}
	out.add("%-20s  %9s  %9s  %9s  %9s  %9s  %10s  %9s", "spans", "precision", "recall", "F1", "labels", "answers", "F1 IoU≥0.5", "token F1")
	for _, s := range append([]metrics.SpanScore{*r.Spans}, r.ByType[:min(len(r.ByType), mostTypes)]...) {
		if s.Type == "" {
			s.Type = "all"
		}
		out.add("%-20s  %9.4f  %9.4f  %9.4f  %9d  %9d  %10.4f  %9.4f", s.Type, s.Precision, s.Recall, s.F1, s.Spans, s.Answers, s.Overlap.F1, s.Tokens.F1)
	}
	if more := len(r.ByType) - mostTypes; more > 0 {
		out.add("and %d more types (--json has all)", more)
	}
}

// writeTags prints tags that make no spans.
func (r *tagsResult) writeTags(out *lines) {
	out.add("%-40s  %8s  %8s", "", "accuracy", "macro F1")
	out.add("%-40s  %7.2f%%  %8.4f", "model", 100*r.Accuracy, r.MacroF1)
	for _, b := range r.Baselines {
		out.add("%-40s  %7.2f%%  %8.4f", b.Name, 100*b.Accuracy, b.MacroF1)
	}
	out.add("%-40s  %8s  %8s", "tag", "F1", "tokens")
	for _, s := range r.ByTag[:min(len(r.ByTag), mostTypes)] {
		out.add("%-40s  %8.4f  %8d", s.Name, s.F1, s.Tokens)
	}
	if more := len(r.ByTag) - mostTypes; more > 0 {
		out.add("and %d more tags (--json has all)", more)
	}
}

// evalTags measures the tags that a model gives the tokens of rows.
func evalTags(c *cli.Context, m models) error {
	in, err := openEvalRows(c, m)
	if err != nil {
		return err
	}
	defer in.close()
	simple, err := newSimpleTags(c.String("data"), m.Config)
	if err != nil {
		return err
	}
	r := &tagsResult{evaluated: in.evaluated(c)}
	err = in.measure(c, func(e *evaluation.Evaluation, rows *seq.Reader, done func(int64)) error {
		return r.measure(c.Context, e, rows, simple, done)
	})
	if err == nil {
		err = in.wrong.commit(c)
	}
	if err != nil {
		return err
	}
	return show(c, r, r.write)
}

// measure reads all rows.
func (r *tagsResult) measure(ctx context.Context, e *evaluation.Evaluation, in *seq.Reader, simple []*simpleTags, done func(int64)) error {
	config, seen := e.Scorer.Config(), e.Seen
	tally := evaluation.NewTags(config)
	e.Measure, e.Seen = tally, func(x *seq.Example, length int, logits []float32) {
		for _, s := range simple {
			s.see(x)
		}
		if seen != nil {
			seen(x, length, logits)
		}
	}
	if err := e.Run(ctx, in, done); err != nil {
		return err
	}
	if err := r.report(config, tally, e.Name); err != nil {
		return err
	}
	r.CutTags = e.CutTags
	for _, s := range simple {
		r.Baselines = append(r.Baselines, s.baseline(config))
	}
	return nil
}

// report says what the model reaches.
func (r *tagsResult) report(config *sft.Config, tally *evaluation.Tags, path string) error {
	if tally.Tokens() == 0 {
		return fmt.Errorf("%s: expected tokens with a label, found none in %d rows that were measured", path, tally.Rows)
	}
	r.Rows, r.Loss = tally.Rows, tally.Loss/float64(tally.Tokens())
	r.tagScores = scoresOf(config, tally)
	return nil
}
