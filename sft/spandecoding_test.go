package sft

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// TestSpanDecodingOfKeptModel: the kept model has the decoding whose span F1 the metrics have, chosen on
// the validation split, also where a temperature divides the logits; the weights are those without it.
func TestSpanDecodingOfKeptModel(t *testing.T) {
	train, val := splits(t, Tagging)
	run := func(change func(s *Settings)) (*Model, EvaluationReport) {
		s := runSettings()
		s.Epochs, s.Select = 3, bySpanF1
		change(&s)
		dir, config := t.TempDir(), trainingConfig()
		config.Task = Tagging
		var kept EvaluationReport
		o := options(dir, nil)
		o.Observe = func(e any) {
			if r, ok := e.(EvaluationReport); ok && r.Best {
				kept = r
			}
		}
		must.Succeed(t, trainNew(t, randomModel(config, 1), s, o, cpu.New(1), train, val))
		return must.Get(Load(dir))(t), kept
	}
	plain, report := run(func(*Settings) {})
	if plain.Config.SpanDecoding != nil || report.SpanDecoding != nil {
		t.Error("a decoding without the setting")
	}
	for _, scaling := range []bool{false, true} {
		m, report := run(func(s *Settings) { s.SpanDecoding, s.TemperatureScaling = true, scaling })
		d := m.Config.SpanDecoding
		if d == nil || *report.SpanDecoding != *d {
			t.Fatalf("the kept model has the decoding %v, the metrics have %v", d, report.SpanDecoding)
		}
		scorer := must.Get(NewScorer(m, cpu.New(1)))(t)
		tally := metrics.NewTagging(m.Config.LabelNames, m.Config.NumLabels)
		for row := range val.Len() {
			e := must.Get(val.Example(row))(t)
			out := must.Get(scorer.Examples(t.Context(), []seq.Example{e}))(t)[0]
			tally.Add(e.Labels, m.Config.TagsOf(out.Logits))
		}
		scorer.Close()
		if math.Abs(tally.SpanF1()-*report.SpanF1) > 1e-12 {
			t.Errorf("scaling %t, %s: span F1 %g, training had %g", scaling, d, tally.SpanF1(), *report.SpanF1)
		}
	}
}

// TestDecodedSpans: spans and tags of a model follow its decoding, whatever the temperature.
func TestDecodedSpans(t *testing.T) {
	c := ofTask(trainingConfig(), Tagging)
	c.LabelNames, c.NumLabels = []string{"O", "B-X", "I-X"}, 3
	logits := []float32{0, 3, 0, 0, 0, 2, 1, 0, 0, 0, 0, 2, 0, 0, 2, 3, 0, 0, 0, 1, 0, 3, 0, 0}
	if got := fmt.Sprint(c.TagsOf(logits)); got != "[1 2 0 2 2 0 1 0]" || len(c.Spans(logits)) != 3 {
		t.Errorf("tags %s", got)
	}
	c.SpanDecoding = &SpanDecoding{SpanPenalty: 1.5}
	if got := fmt.Sprint(c.TagsOf(logits)); got != "[1 2 2 2 2 0 0 0]" {
		t.Errorf("tags %s with a penalty", got)
	}
	r := EvaluationReport{SpanDecoding: &SpanDecoding{SpanPenalty: 3}}
	if r.calibrate(2); r.SpanDecoding.SpanPenalty != 1.5 {
		t.Errorf("penalty %g of halved logits", r.SpanDecoding.SpanPenalty)
	}
	c.SpanDecoding = &SpanDecoding{MaxGap: 1, MinLength: 2}
	if spans := c.Spans(logits); len(spans) != 1 || spans[0].Start != 0 || spans[0].End != 7 || spans[0].Label != "X" {
		t.Errorf("spans %v", spans)
	}
	if got := c.SpanDecoding.String() +
		(SpanDecoding{}).String(); got != "span penalty 0, gaps of up to 1 tokens joined, spans of less than 2 tokens removedeach token alone" {
		t.Errorf("%q", got)
	}
}

// TestSpanDecodingIsChecked: of a configuration, and not kept by a model that starts from it.
func TestSpanDecodingIsChecked(t *testing.T) {
	c := ofTask(trainingConfig(), Tagging)
	for key, bad := range map[string]SpanDecoding{
		"span_decoding.span_penalty": {SpanPenalty: -1}, "span_decoding.max_gap": {MaxGap: -1},
		"span_decoding.min_length": {MinLength: 1 << 40},
	} {
		c.SpanDecoding = &bad
		must.Fail(t, key+": ")(c.Validate())
	}
	c.SpanDecoding = &SpanDecoding{SpanPenalty: math.Inf(1)}
	must.Fail(t, "span_penalty")(c.Validate())
	c.SpanDecoding = &SpanDecoding{2, 3, 4}
	path := filepath.Join(t.TempDir(), "config.json")
	must.Succeed(t, c.Write(path))
	if again := must.Get(ReadConfig(path))(t); *again.SpanDecoding != *c.SpanDecoding {
		t.Errorf("decoding %v", again.SpanDecoding)
	}
	class := trainingConfig()
	class.SpanDecoding = &SpanDecoding{}
	must.Fail(t, "none but for tags of a text")(class.Validate())
	names := slices.Clone(c.LabelNames)
	must.Succeed(t, c.DescribeData(seq.Spec{Task: Tagging, VocabSize: 9, Tokenizer: []byte(`{"type":"ids","vocab":9}`),
		LabelNames: append(names, "O")}))
	if c.SpanDecoding != nil {
		t.Error("a model that starts from another keeps its decoding")
	}
}
