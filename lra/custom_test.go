package lra

import (
	"testing"

	"sftseq/seq"
)

// TestCustomPreset: whatever rows there are, there is a model, and a run that ends.
func TestCustomPreset(t *testing.T) {
	for _, c := range []struct {
		rows, length     int64
		k, batch, epochs int
		dropout          float64
	}{
		{0, 0, 8, 128, 60, 0.2},
		{100, 1, 8, 128, 60, 0.2},
		{2700, 300, 32, 64, 60, 0.2},
		{50000, 1024, 64, 32, 3, 0},
		{50000, 1 << 20, 64, 8, 2, 0},
	} {
		m := &seq.Manifest{Task: seq.Classification, Splits: map[string]seq.SplitInfo{
			"train": {Rows: c.rows, Lengths: seq.Quantiles{P50: c.length, Mean: float64(c.length)}}}}
		p := Custom(m).Presets[0]
		if p.Config.NumSampledTokens != c.k || p.Settings.Batch != c.batch || p.Settings.Epochs != c.epochs || p.Config.FeedForward != c.dropout || p.Config.SamplerNoise != "always" {
			t.Errorf("%d rows of %d tokens: %s", c.rows, c.length, p.Description)
		}
		if err := p.Settings.Validate(); err != nil {
			t.Errorf("%d rows of %d tokens: %v", c.rows, c.length, err)
		}
		p.Config.VocabSize, p.Config.NumLabels = 257, 2
		if err := p.Config.Validate(); err != nil {
			t.Errorf("%d rows of %d tokens: %v", c.rows, c.length, err)
		}
	}
}
