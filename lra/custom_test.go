package lra

import (
	"math"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// TestCustomPreset: whatever rows there are, there is a model, and a run that ends.
func TestCustomPreset(t *testing.T) {
	for _, c := range []struct {
		rows, length     int64
		k, batch, epochs int
		dropout          float64
		tokenizer        string
		convolutions     string
	}{
		{0, 0, 16, 16, 60, 0.2, "byte", "7"},
		{100, 1, 16, 16, 60, 0.2, "byte", "7"},
		{2200, 60, 32, 16, 60, 0.2, "dna", "7"},
		{2400, 3400, 16, 8, 12, 0.2, "mulaw", "9,9:4,9:16,9:64"},
		{2400, 43, 32, 16, 100, 0.2, "audio-vq", "5,5:4"},
		{45000, 220, 64, 16, 5, 0, "words", "none"},
		{80000, 360, 16, 32, 2, 0, "pairs of words", "none"},
		{80000, 4096, 16, 16, 2, 0, "pairs of words", "none"},
		{40000, 1024, 64, 16, 4, 0, "pixel", "7"},
		{50000, 1024, 64, 16, 3, 0, "byte", "7"},
		{50000, 1 << 20, 64, 8, 2, 0, "byte", "15,15:8"},
	} {
		kind, pairs := strings.CutPrefix(c.tokenizer, "pairs of ")
		task := map[bool]string{false: seq.Classification, true: seq.Retrieval}[pairs]
		m := &seq.Manifest{Task: task, Tokenizer: []byte(`{"type":"` + kind + `"}`), Splits: map[string]seq.SplitInfo{
			"train": {Rows: c.rows, Lengths: seq.Quantiles{P50: c.length, Mean: float64(c.length)}}}}
		p := Custom(m).Presets[0]
		if p.Config.NumSampledTokens != c.k || p.Settings.Batch != c.batch || p.Settings.Epochs != c.epochs || p.Config.FeedForward != c.dropout || p.Config.SamplerNoise != "always" || sft.FormatConvolutions(p.Config.Convolutions) != c.convolutions {
			t.Errorf("%d rows of %d tokens: %s", c.rows, c.length, p.Description)
		}
		s := p.Settings
		if noisy := kind == "audio-vq" || kind == "mulaw"; s.FollowsEnd() != (noisy || pairs) || s.TokenDeletion > 0 != noisy || s.TokenReplacement > 0 != noisy {
			t.Errorf("%s: schedule %q, %g of the tokens left out, %g replaced", c.tokenizer, s.Schedule, s.TokenDeletion, s.TokenReplacement)
		}
		if begin := map[string]string{"mulaw": "fourier", "pixel": "fourier", "audio-vq": "codebook"}[kind]; s.EmbeddingInit != begin {
			t.Errorf("%s: embeddings begin %q, expected %q", c.tokenizer, s.EmbeddingInit, begin)
		}
		if p.Config.ResidualScale != pairs || (p.Config.HiddenSize > 64) != pairs {
			t.Errorf("%s: %+v", c.tokenizer, p.Config)
		}
		if s.EvalEvery < 1 || !s.FollowsEnd() && math.Abs(math.Pow(s.DecayRate, float64(s.Epochs/s.StepSize))-0.1) > 0.02 {
			t.Errorf("%d rows of %d tokens: the rate falls by %g every %d of %d epochs; evaluations every %d steps", c.rows, c.length, s.DecayRate, s.StepSize, s.Epochs, s.EvalEvery)
		}
		must.Check(t, p.Settings.Validate(), c.rows, "rows of", c.length, "tokens")
		p.Config.Task, p.Config.VocabSize, p.Config.NumLabels = task, 257, 2
		must.Check(t, p.Config.Validate(), c.rows, "rows of", c.length, "tokens")
	}
}

// TestCustomFeatures: points and nodes are read by three layers without convolutions, at a rate
// that falls to nothing.
func TestCustomFeatures(t *testing.T) {
	for _, c := range []struct {
		task    string
		edges   []string
		dropout float64
	}{{seq.Classification, nil, 0.2}, {seq.Tagging, []string{}, 0.2}, {seq.Regression, []string{}, 0}} {
		task, edges, dropout := c.task, c.edges, c.dropout
		m := &seq.Manifest{Task: task, FeatureNames: []string{"x", "y", "z"}, EdgeFeatureNames: edges, Splits: map[string]seq.SplitInfo{
			"train": {Rows: 2000, Lengths: seq.Quantiles{P50: 256, Mean: 256}}}}
		p := Custom(m).Presets[0]
		c, s := p.Config, p.Settings
		if c.NumLayers != 3 || len(c.Convolutions) > 0 || s.Schedule != "cosine" || s.FinalRate != 0 || s.LearningRate != 2e-3 || s.Epochs != 60 || c.FeedForward != dropout {
			t.Errorf("%s, edges %v: %s, rate %g to %g", task, edges, p.Description, s.LearningRate, s.FinalRate)
		}
	}
}

// TestCustomSeries: the steps of a series are read by convolutions, as features that are neither points
// nor nodes.
func TestCustomSeries(t *testing.T) {
	for length, want := range map[int64]string{128: "7", 5000: "15,15:8"} {
		m := &seq.Manifest{Task: seq.Classification, FeatureNames: []string{"volts"}, Splits: map[string]seq.SplitInfo{
			"train": {Rows: 2000, Lengths: seq.Quantiles{P50: length, Mean: float64(length)}}}}
		if c := Custom(m).Presets[0].Config; sft.FormatConvolutions(c.Convolutions) != want || c.NumLayers != 3 {
			t.Errorf("length %v: convolutions %s, %d layers", length, sft.FormatConvolutions(c.Convolutions), c.NumLayers)
		}
	}
}
