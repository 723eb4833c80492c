package config_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestDescribeFillMask checks that the mask becomes the last token of the vocabulary, after the data's
// tokens. It also checks the default rates and spans, and the errors for invalid values.
func TestDescribeFillMask(t *testing.T) {
	spec := seq.Spec{Task: config.Classification, VocabSize: 9, Tokenizer: json.RawMessage(`{"type":"listops"}`)}
	c := configtest.TinyConfig()
	c.Task = config.FillMask
	must.Succeed(t, c.DescribeData(spec))
	if c.VocabSize != 10 || c.NumLabels != 9 || *c.MaskTokenID != 9 || c.MaskRate != 0.15 || c.MaskSpan != 3 {
		t.Errorf("configuration %+v, want 10 ids with a mask, spans of 3 and a rate of 0.15", c)
	}
	spec.VocabSize, c.MaskSpan, c.MaskRate = 5000, 0, 0.4
	if err := c.DescribeData(spec); err != nil || c.MaskSpan != 1 || c.MaskRate != 0.4 || c.VocabSize != 5001 {
		t.Errorf("configuration %+v, want 5001 ids, spans of 1 and a rate of 0.4; error %v", c, err)
	}
	for want, change := range map[string]func(c *config.Config){
		"mask_token_id: none":    func(c *config.Config) { c.MaskTokenID = nil },
		"mask_token_id: 3":       func(c *config.Config) { c.MaskTokenID = new(int32(3)) },
		"num_labels: 7":          func(c *config.Config) { c.NumLabels = 7 },
		"mask_rate: 1":           func(c *config.Config) { c.MaskRate = 1 },
		"mask_rate: NaN":         func(c *config.Config) { c.MaskRate = math.NaN() },
		"mask_rate: 1e-30":       func(c *config.Config) { c.MaskRate = 1e-30 },
		"mask_span: 0.5":         func(c *config.Config) { c.MaskSpan = 0.5 },
		"mask_span: 1e+18":       func(c *config.Config) { c.MaskSpan = 1e18 },
		"mask_span: +Inf":        func(c *config.Config) { c.MaskSpan = math.Inf(1) },
		"pad_token_id: 8":        func(c *config.Config) { c.PadTokenID = c.MaskTokenID },
		"tie_embeddings: true":   func(c *config.Config) { c.Task, c.TieEmbeddings = config.Classification, true },
		"mask_token_id: 0, expe": func(c *config.Config) { c.VocabSize, c.MaskTokenID = 1, new(int32(0)) },
	} {
		c := configtest.WithTask(configtest.TinyConfig(), config.FillMask)
		change(c)
		must.Fail(t, want)(c.Validate())
	}
}
