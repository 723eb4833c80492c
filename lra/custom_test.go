package lra

import (
	"math"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// TestCustomPreset checks the preset for data of several tokenizers and sizes: the model is valid,
// and the run has the expected length and settings.
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
		if p.Config.NumSampledTokens != c.k || p.Settings.Batch != c.batch || p.Settings.Epochs != c.epochs ||
			p.Config.FeedForward != c.dropout || p.Config.SamplerNoise != "always" ||
			config.FormatConvolutions(p.Config.Convolutions) != c.convolutions {
			t.Errorf("%d rows of %d tokens: preset %s, want %+v", c.rows, c.length, p.Description, c)
		}
		s := p.Settings
		if noisy := kind == "audio-vq" || kind == "mulaw"; (s.Schedule == "cosine") != (noisy || pairs) ||
			s.TokenDeletion > 0 != noisy || s.TokenReplacement > 0 != noisy {
			t.Errorf("%s: schedule %q, token deletion %g, replacement %g; want noise only for audio, cosine only for "+
				"audio and pairs", c.tokenizer, s.Schedule, s.TokenDeletion, s.TokenReplacement)
		}
		if wantInit := map[string]string{"mulaw": "fourier", "pixel": "fourier",
			"audio-vq": "codebook"}[kind]; s.EmbeddingInit != wantInit {
			t.Errorf("%s: initial embeddings %q, want %q", c.tokenizer, s.EmbeddingInit, wantInit)
		}
		if p.Config.ResidualScale != pairs || (p.Config.HiddenSize > 64) != pairs {
			t.Errorf("%s: residual scale and width of %+v, want both only for pairs", c.tokenizer, p.Config)
		}
		if s.EvalEvery < 1 || s.Schedule != "cosine" && (s.Schedule != "exponential" || s.FinalRate != 0.1) {
			t.Errorf("%d rows of %d tokens: schedule %q to %g, want cosine, or exponential to 0.1; evaluations every "+
				"%d steps, want at least 1", c.rows, c.length, s.Schedule, s.FinalRate, s.EvalEvery)
		}
		if s.Patience != 7 || !s.TemperatureScaling || s.Select != train.OneStandardError {
			t.Errorf("%d rows of %d tokens: patience %d, select %q, temperature scaling %t; want all safeguards",
				c.rows, c.length, s.Patience, s.Select, s.TemperatureScaling)
		}
		unguarded := customPreset(m, RunFlags{}).Settings // settings without the safeguards for users' data
		if unguarded.Patience != 0 || unguarded.TemperatureScaling || unguarded.Select != "" ||
			!unguarded.FollowsEnd() &&
				math.Abs(math.Pow(unguarded.DecayRate, float64(unguarded.Epochs/unguarded.StepSize))-0.1) > 0.02 {
			t.Errorf("%d rows of %d tokens: settings %+v, want no safeguards, a decay to 0.1",
				c.rows, c.length, unguarded)
		}
		must.Check(t, p.Settings.Validate(), c.rows, "rows of", c.length, "tokens")
		p.Config.Task, p.Config.VocabSize, p.Config.NumLabels = task, 257, 2
		must.Check(t, p.Config.Validate(), c.rows, "rows of", c.length, "tokens")
	}
}

// TestCustomRunFollowsFlags checks that CustomRun adapts epochs, batch, convolutions, schedule and
// evaluations to the number of tokens read and to the length of the run.
func TestCustomRunFollowsFlags(t *testing.T) {
	m := &seq.Manifest{Task: seq.Classification, Tokenizer: []byte(`{"type":"byte"}`), Splits: map[string]seq.SplitInfo{
		"train": {Rows: 4000, Lengths: seq.Quantiles{P50: 6000, P95: 60000, Mean: 15000}}, "val": {Rows: 400}}}
	for _, c := range []struct {
		flags            RunFlags
		convolutions     string
		batch, epochs    int
		schedule         string
		evalEvery, steps int
		stepSize         int
	}{
		{RunFlags{}, "15,15:8", 8, 3, "exponential", 100, 1500, 0},
		{RunFlags{InputWindow: 2048}, "7", 16, 24, "exponential", 400, 6000, 0},
		{RunFlags{InputWindow: 2048, Batch: 32}, "7", 32, 24, "exponential", 200, 3000, 0},
		{RunFlags{InputWindow: 1 << 20}, "15,15:8", 8, 3, "exponential", 100, 1500, 0},
		{RunFlags{InputWindow: 64, Epochs: 3}, "7", 16, 3, "exponential", 50, 750, 0},
		{RunFlags{Steps: 600}, "15,15:8", 8, 2, "exponential", 50, 600, 0},
		{RunFlags{InputWindow: 64, Epochs: 30, Schedule: "step"}, "7", 16, 30, "", 500, 7500, 3},
		{RunFlags{Epochs: 3, Schedule: "step"}, "15,15:8", 8, 3, "", 100, 1500, 1},
	} {
		p := CustomRun(m, c.flags).Presets[0]
		s := p.Settings
		steps := s.Steps
		if steps == 0 {
			steps = s.Epochs * 4000 / s.Batch
		}
		if config.FormatConvolutions(p.Config.Convolutions) != c.convolutions || s.Batch != c.batch ||
			s.Epochs != c.epochs || s.Schedule != c.schedule || s.EvalEvery != c.evalEvery || steps != c.steps ||
			s.StepSize != c.stepSize {
			t.Errorf("%+v: preset %s with the settings %+v, want %+v", c.flags, p.Description, s, c)
		}
		if end := math.Pow(s.DecayRate, float64(s.Epochs/max(1, s.StepSize))); c.schedule == "" &&
			math.Abs(end-0.1) > 0.001 {
			t.Errorf("%+v: the learning rate ends at %g of its first value, want 0.1", c.flags, end)
		}
		must.Check(t, s.Validate(), c.flags)
	}
}

// TestCustomFeatures checks that models of points and nodes get three layers, no convolutions and a
// learning rate that decays to zero.
func TestCustomFeatures(t *testing.T) {
	for _, c := range []struct {
		task    string
		edges   []string
		dropout float64
	}{{seq.Classification, nil, 0.2}, {seq.Tagging, []string{}, 0.2}, {seq.Regression, []string{}, 0}} {
		task, edges, dropout := c.task, c.edges, c.dropout
		m := &seq.Manifest{Task: task, FeatureNames: []string{"x", "y", "z"}, EdgeFeatureNames: edges,
			Splits: map[string]seq.SplitInfo{
				"train": {Rows: 2000, Lengths: seq.Quantiles{P50: 256, Mean: 256}}}}
		p := Custom(m).Presets[0]
		c, s := p.Config, p.Settings
		if c.NumLayers != 3 || len(c.Convolutions) > 0 || s.Schedule != "cosine" || s.FinalRate != 0 ||
			s.LearningRate != 2e-3 || s.Epochs != 60 || c.FeedForward != dropout {
			t.Errorf("%s, edges %v: configuration %+v, settings %+v, want 3 layers, no convolutions, 60 epochs",
				task, edges, c, s)
		}
	}
}

// TestCustomSeries checks that models of time series get convolutions, unlike models of points and
// nodes.
func TestCustomSeries(t *testing.T) {
	for length, want := range map[int64]string{128: "7", 5000: "15,15:8"} {
		m := &seq.Manifest{Task: seq.Classification, FeatureNames: []string{"volts"}, Splits: map[string]seq.SplitInfo{
			"train": {Rows: 2000, Lengths: seq.Quantiles{P50: length, Mean: float64(length)}}}}
		if c := Custom(m).Presets[0].Config; config.FormatConvolutions(c.Convolutions) != want || c.NumLayers != 3 {
			t.Errorf("length %v: convolutions %s, %d layers; want %s, 3 layers", length,
				config.FormatConvolutions(c.Convolutions), c.NumLayers, want)
		}
	}
}

// TestDescribeRun checks that DescribeRun lists moving averages only for a model that has them.
func TestDescribeRun(t *testing.T) {
	p := Custom(&seq.Manifest{}).Presets[0]
	if got := DescribeRun(&p.Config, &p.Settings); strings.Contains(got, "averages") {
		t.Errorf("got %s, want no averages", got)
	}
	p.Config.MovingAverages = 3
	if got := DescribeRun(&p.Config, &p.Settings); !strings.Contains(got, ", moving averages 3,") {
		t.Errorf("got %s, want moving averages 3", got)
	}
}
