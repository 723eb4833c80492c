package train

import (
	"errors"
	"fmt"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// tagging is the training task of models with one label per token.
type tagging struct{}

func (tagging) settings(c *config.Config, s *Settings) error {
	parts := parts(c) != nil
	if s.Select == "" {
		s.Select = byMacroF1
		switch {
		case parts:
			s.Select = byIoU
		case !c.HasFeatures() && metrics.NewTags(c.LabelNames, c.NumLabels).BIO():
			s.Select = bySpanF1
		}
	}
	selections := []string{byAccuracy, byLoss, byMacroF1}
	switch {
	case parts:
		selections = append(selections, byIoU)
	case s.Select == byIoU:
		return fmt.Errorf("select %q: expected tokens with features and tags named CATEGORY/PART", byIoU)
	}
	switch {
	case !c.HasFeatures():
		selections = append(selections, bySpanF1)
	case s.Select == bySpanF1:
		return fmt.Errorf("select %q: tokens with features have no order and therefore no spans", bySpanF1)
	}
	if err := checkSelectable(c, s.Select, selections...); err != nil {
		return err
	}
	if n := len(s.ClassWeights); n > 0 && n != c.NumLabels {
		return fmt.Errorf("found %d class weights, expected one for each of the %d tags", n, c.NumLabels)
	}
	return nil
}

// weight returns 1: model.tagging.weightLosses weights the losses of tokens.
func (tagging) weight(*Settings, seq.Example) float64 { return 1 }

func (tagging) measure(c *config.Config, s *Settings) measurement {
	m := &tagMeasurement{config: c, tally: metrics.NewTagging(c.LabelNames, c.NumLabels), parts: parts(c),
		sample: newLogitSample(s)}
	if s.SpanDecoding && s.Select == bySpanF1 {
		m.decoding = metrics.NewDecodingChoice(c.LabelNames, c.NumLabels)
	}
	return m
}

// tagMeasurement accumulates the metrics of a tagging model on a split.
type tagMeasurement struct {
	config   *config.Config
	tally    *metrics.Tagging
	decoding *metrics.DecodingChoice // nil if no decoding is chosen
	parts    *metrics.Parts          // nil if tags are not parts
	loss     float64
	sample   *metrics.LogitSample
}

func (m *tagMeasurement) temperature() float64 { return m.sample.Temperature() }

func (m *tagMeasurement) add(logits []float32, e seq.Example) {
	m.loss += m.config.TaggingLossOf(logits, e)
	m.tally.Add(e.Labels, m.config.LikeliestTags(logits))
	if m.decoding != nil {
		m.decoding.Add(e.Labels, logits)
	}
	for t, label := range e.Labels {
		if label != seq.NoLabel {
			m.sample.Add(int(label), logits[t*m.config.NumLabels:(t+1)*m.config.NumLabels])
		}
	}
	if m.parts != nil {
		m.parts.Add(e.Labels, m.parts.Predict(e.Labels, logits))
	}
}

func (m *tagMeasurement) report(r *EvaluationReport) {
	r.Loss = m.loss / float64(m.tally.Tokens())
	r.Accuracy, r.MacroF1 = new(m.tally.Accuracy()), new(m.tally.MacroF1())
	if !m.config.HasFeatures() {
		spans := m.tally.AllSpans()
		if m.decoding != nil {
			var d metrics.SpanDecoding
			d, spans = m.decoding.Best()
			r.SpanDecoding = new(config.SpanDecoding(d))
		}
		r.SpanF1, r.SpanF1AtIoU50 = new(spans.F1), new(spans.Overlap.F1)
	}
	if m.parts != nil {
		r.InstanceIoU, r.ClassIoU = new(m.parts.InstanceIoU()), new(m.parts.ClassIoU())
	}
}

// parts returns metrics of the parts of categories if the model tags tokens with features and all
// tags are named CATEGORY/PART, otherwise nil.
func parts(c *config.Config) *metrics.Parts {
	if !c.PerToken() || !c.HasFeatures() {
		return nil
	}
	return metrics.NewParts(c.LabelNames)
}

// errNoTags reports a split without a labelled token.
var errNoTags = errors.New("no token has a label")

// checkTags returns an error if the model predicts tags and no token of a split has a label.
func checkTags(c *config.Config, f *seq.File) error {
	if !c.PerToken() {
		return nil
	}
	for row := range f.Len() {
		e, err := f.Example(row)
		if err != nil {
			return err
		}
		if model.TaggedTokens(e) > 0 {
			return nil
		}
	}
	return fmt.Errorf("%s: %w in its %d rows", f.Name(), errNoTags, f.Len())
}
