package config_test

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestSpanDecodingIsChecked checks the errors for invalid decodings, that config.json keeps a valid decoding, and that
// DescribeData removes the initial model's decoding.
func TestSpanDecodingIsChecked(t *testing.T) {
	c := configtest.WithTask(configtest.TrainingConfig(), config.Tagging)
	for key, bad := range map[string]config.SpanDecoding{
		"span_decoding.span_penalty": {SpanPenalty: -1}, "span_decoding.max_gap": {MaxGap: -1},
		"span_decoding.min_length": {MinLength: 1 << 40},
	} {
		c.SpanDecoding = &bad
		must.Fail(t, key+": ")(c.Validate())
	}
	c.SpanDecoding = &config.SpanDecoding{SpanPenalty: math.Inf(1)}
	must.Fail(t, "span_penalty")(c.Validate())
	c.SpanDecoding = &config.SpanDecoding{SpanPenalty: 2, MaxGap: 3, MinLength: 4}
	path := filepath.Join(t.TempDir(), "config.json")
	must.Succeed(t, c.Write(path))
	if again := must.Get(config.Read(path))(t); *again.SpanDecoding != *c.SpanDecoding {
		t.Errorf("the decoding is read back as %v, want %v", again.SpanDecoding, c.SpanDecoding)
	}
	class := configtest.TrainingConfig()
	class.SpanDecoding = &config.SpanDecoding{}
	must.Fail(t, "none: only models that tag text decode spans")(class.Validate())
	names := slices.Clone(c.LabelNames)
	must.Succeed(t, c.DescribeData(seq.Spec{Task: config.Tagging, VocabSize: 9,
		Tokenizer:  []byte(`{"type":"ids","vocab":9}`),
		LabelNames: append(names, "O")}))
	if c.SpanDecoding != nil {
		t.Errorf("DescribeData keeps the initial model's decoding %v, want none", c.SpanDecoding)
	}
}
