package main

import (
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/table"
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
	if r.Spans.Answers == 0 {
		out.add("the model predicts 0 spans in %d rows", r.Rows)
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

// tagKind measures the tags that a model gives the tokens of rows.
type tagKind struct {
	aloneKind
	config *sft.Config
	tally  *evaluation.Tags
	simple []*simpleTags
	cut    int64
}

func newTagKind(c *sft.Config) *tagKind { return &tagKind{config: c, tally: evaluation.NewTags(c)} }

func (k *tagKind) begin(c *cli.Context, _ models, _ *evalRows) error {
	return k.compare(c.String("data"))
}

// compare also measures simple models of the training split of a data set.
func (k *tagKind) compare(data string) (err error) {
	k.simple, err = newSimpleTags(data, k.config)
	return err
}

func (k *tagKind) measure() evaluation.Measure { return k.tally }

func (k *tagKind) see(x *seq.Example, _ []float32, cutTags int64) {
	k.cut += cutTags
	for _, s := range k.simple {
		s.see(x)
	}
}

func (k *tagKind) report(_ context.Context, of evaluated) (evalReport, error) { return k.result(of) }

func (k *tagKind) result(of evaluated) (*tagsResult, error) {
	if k.tally.Tokens() == 0 {
		return nil, fmt.Errorf("%s: expected tokens with a label, found none in %d rows that were measured", of.rowsIn(), k.tally.Rows)
	}
	r := &tagsResult{evaluated: of, Rows: k.tally.Rows, Loss: k.tally.Loss / float64(k.tally.Tokens()), CutTags: k.cut,
		tagScores: scoresOf(k.config, k.tally)}
	for _, s := range k.simple {
		r.Baselines = append(r.Baselines, s.baseline(k.config))
	}
	return r, nil
}

func (k *tagKind) columns() []table.OutputColumn {
	out := []table.OutputColumn{{Name: partLabels, Kind: table.ListColumn}, {Name: partTags, Kind: table.ListColumn},
		{Name: partLoss, Kind: table.FloatColumn}, {Name: partCut, Kind: table.IntColumn}}
	if k.tally.Parts != nil {
		out = append(out, table.OutputColumn{Name: partAmong, Kind: table.ListColumn})
	}
	return out
}

func (k *tagKind) values(x *seq.Example, logits []float32, cutTags int64) []any {
	row := []any{x.Labels, k.config.TagsOf(logits), float32(k.config.TaggingLossOf(logits, *x)), cutTags}
	if k.tally.Parts != nil {
		row = append(row, k.tally.Among(x.Labels, logits))
	}
	return row
}

func (k *tagKind) add(p *partColumns, i int) error {
	labels, tags := p.list(partLabels, i), p.list(partTags, i)
	among := tags
	if k.tally.Parts != nil {
		among = p.list(partAmong, i)
	}
	if len(labels) != len(tags) || len(labels) != len(among) {
		return fmt.Errorf("%d labels, %d tags and %d among those of the category, expected as many", len(labels), len(tags), len(among))
	}
	n := int32(k.config.NumLabels)
	known := func(tag int32) bool { return tag >= 0 && tag < n }
	for t, label := range labels {
		if label >= n || !known(tags[t]) || !known(among[t]) {
			return fmt.Errorf("token %d has label %d and the tags %d and %d, the model has %d", t, label, tags[t], among[t], n)
		}
	}
	k.tally.Count(labels, tags, among, p.real(partLoss, i))
	k.cut += p.whole(partCut, i)
	return nil
}
