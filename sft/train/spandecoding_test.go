package train

import (
	"fmt"
	"math"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestSpanDecodingOfSavedModel checks that the saved model has the decoding chosen on the
// validation split and the span F1 of the metrics, with and without a temperature.
func TestSpanDecodingOfSavedModel(t *testing.T) {
	train, val := tinySplits(t, config.Tagging)
	run := func(change func(s *Settings)) (*sft.Model, EvaluationReport) {
		s := runSettings()
		s.Epochs, s.Select = 3, bySpanF1
		change(&s)
		dir, small := t.TempDir(), configtest.TrainingConfig()
		small.Task = config.Tagging
		var best EvaluationReport
		o := options(dir, nil)
		o.Observe = func(e any) {
			if r, ok := e.(EvaluationReport); ok && r.Best {
				best = r
			}
		}
		must.Succeed(t, trainNew(t, modeltest.RandomModel(small, 1), s, o, cpu.New(1), train, val))
		return must.Get(sft.Load(dir))(t), best
	}
	plain, report := run(func(*Settings) {})
	if plain.Config.SpanDecoding != nil || report.SpanDecoding != nil {
		t.Error("a run without the setting chose a decoding")
	}
	for _, scaling := range []bool{false, true} {
		m, report := run(func(s *Settings) { s.SpanDecoding, s.TemperatureScaling = true, scaling })
		d := m.Config.SpanDecoding
		if d == nil || *report.SpanDecoding != *d {
			t.Fatalf("the saved model has the decoding %v, the metrics have %v", d, report.SpanDecoding)
		}
		scorer := must.Get(sft.NewScorer(m, cpu.New(1)))(t)
		tally := metrics.NewTagging(m.Config.LabelNames, m.Config.NumLabels)
		for row := range val.Len() {
			e := must.Get(val.Example(row))(t)
			out := must.Get(scorer.Examples(t.Context(), []seq.Example{e}))(t)[0]
			tally.Add(e.Labels, m.Config.TagsOf(out.Logits))
		}
		scorer.Close()
		if math.Abs(tally.SpanF1()-*report.SpanF1) > 1e-12 {
			t.Errorf("scaling %t, %s: span F1 %g, want %g as in training", scaling, d, tally.SpanF1(), *report.SpanF1)
		}
	}
}

// TestDecodedSpans checks that spans and tags follow the model's decoding, and that the temperature
// scales the span penalty.
func TestDecodedSpans(t *testing.T) {
	c := configtest.WithTask(configtest.TrainingConfig(), config.Tagging)
	c.LabelNames, c.NumLabels = []string{"O", "B-X", "I-X"}, 3
	logits := []float32{0, 3, 0, 0, 0, 2, 1, 0, 0, 0, 0, 2, 0, 0, 2, 3, 0, 0, 0, 1, 0, 3, 0, 0}
	if got := fmt.Sprint(c.TagsOf(logits)); got != "[1 2 0 2 2 0 1 0]" || len(c.Spans(logits)) != 3 {
		t.Errorf("tags %s, want [1 2 0 2 2 0 1 0] and 3 spans", got)
	}
	c.SpanDecoding = &config.SpanDecoding{SpanPenalty: 1.5}
	if got := fmt.Sprint(c.TagsOf(logits)); got != "[1 2 2 2 2 0 0 0]" {
		t.Errorf("tags %s with a penalty, want [1 2 2 2 2 0 0 0]", got)
	}
	r := EvaluationReport{SpanDecoding: &config.SpanDecoding{SpanPenalty: 3}}
	if r.calibrate(2); r.SpanDecoding.SpanPenalty != 1.5 {
		t.Errorf("penalty %g for halved logits, want 1.5", r.SpanDecoding.SpanPenalty)
	}
	c.SpanDecoding = &config.SpanDecoding{MaxGap: 1, MinLength: 2}
	if spans := c.Spans(logits); len(spans) != 1 || spans[0].Start != 0 || spans[0].End != 7 || spans[0].Label != "X" {
		t.Errorf("spans %v, want a single X from 0 to 7", spans)
	}
	const want = "span penalty 0, gaps of up to 1 tokens joined, spans of fewer than 2 tokens removed" +
		"each token independently"
	if got := c.SpanDecoding.String() + (config.SpanDecoding{}).String(); got != want {
		t.Errorf("String returned %q, want %q", got, want)
	}
}
