package lra

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
	"github.com/sftseq/sftseq/tokenizers"
)

// CustomName is the name of the task that [Custom] returns.
const CustomName = "custom"

// Custom returns the task of a user's data set. The manifest determines the task's kind,
// tokenizer and labels, and its single preset.
func Custom(m *seq.Manifest) *Task { return CustomRun(m, RunFlags{}) }

// RunFlags are the flags that affect the settings of [CustomRun]. The data determine the value of each
// field that is zero.
type RunFlags struct {
	InputWindow int // maximum number of tokens read per row
	Batch       int
	Epochs      int
	Steps       int    // number of steps, instead of Epochs
	Schedule    string // one of [train.Schedules]
}

// CustomRun returns the task of [Custom] for a run with flags. Epochs, batch, sampled tokens,
// convolutions, learning rate decay and evaluations depend on the number of tokens that the model
// reads and on the length of the run.
func CustomRun(m *seq.Manifest, f RunFlags) *Task {
	return &Task{
		Name:        CustomName,
		Description: "a data set of your own, with settings chosen from its manifest",
		Kind:        m.Task,
		Tokenizer:   m.Tokenizer,
		Labels:      m.LabelNames,
		Presets:     []*Preset{userPreset(m, f)},
		Import:      &Importer{Example: "sftseq data convert --from reviews.csv --to data/reviews --text review --label stars"},
	}
}

// Constants of the settings for users' data. They were chosen on validation splits.
// docs/adr/0017-settings-from-the-data.md lists the experiments, and docs/results.md the accuracy
// on pairs of texts.
const (
	maxSteps              = 15000
	runTokens             = 200e6 // tokens per run: half an hour on two cores
	pairTokens            = 60e6  // tokens per run for pairs of texts in words, which use a wider model
	audioTokens           = 100e6 // tokens per run for audio samples, whose convolutions cost more
	minRowsWithoutDropout = 20000 // models overfit smaller training splits without dropout
	minEpochs             = 2
	maxEpochs             = 60
	maxNoisyEpochs        = 100  // maximum epochs for audio spectra, whose noise differs in each epoch
	evaluations           = 15   // evaluations per run
	warmupSteps           = 100  // warmup steps for runs of at least ten times this number
	finalRate             = 0.1  // final rate of an exponential decay, as a fraction of the peak rate
	longRow               = 2048 // maximum tokens of a short row
)

// userPreset returns customPreset's preset with safeguards for users' data. By default the learning
// rate decays over the length of the run. Training stops early, and the saved model's probabilities
// are calibrated. In classification and retrieval, the saved model has the lowest loss among those
// within one standard error of the best accuracy.
func userPreset(m *seq.Manifest, f RunFlags) *Preset {
	p := customPreset(m, f)
	s := &p.Settings
	if rows := int(m.Splits["val"].Rows); f.Epochs > 0 || f.Steps > 0 { // a short run has few evaluations
		s.EvalEvery = max(s.EvalEvery, rows/s.Batch)
	}
	if !s.FollowsEnd() && f.Schedule == "" {
		SetSchedule(s, "exponential")
		s.FinalRate = finalRate
	}
	s.Patience = evaluations / 2
	s.Warmup = strconv.Itoa(max(1, min(warmupSteps, stepsOf(s, m.Splits["train"].Rows)/10)))
	s.TemperatureScaling, s.SpanDecoding = true, m.Task == seq.Tagging && m.FeatureNames == nil
	if m.Task == seq.Classification || m.Task == seq.Retrieval {
		s.Select = train.OneStandardError
	}
	p.Description = DescribeRun(&p.Config, s)
	return p
}

// customPreset returns a preset whose training usually takes at most half an hour on two cores. It
// uses many small batches, which train better than few large batches. The number of sampled tokens
// is usually the median length, rounded down to a power of two from 16 to 64. The learning rate
// decays, to a tenth or to zero, and small training splits get dropout. Evaluation samples tokens at
// random, as training does. It does not take the tokens with the highest scores: these tokens may be
// almost equal, for example the loudest parts of a sound, and a model trained on randomly sampled
// tokens would misclassify rows by them.
func customPreset(m *seq.Manifest, f RunFlags) *Preset {
	train := m.Splits["train"]
	if w := int64(f.InputWindow); w > 0 {
		l := &train.Lengths
		l.P50, l.P95, l.Mean = min(l.P50, w), min(l.P95, w), min(l.Mean, float64(w))
	}
	length := max(1, int(train.Lengths.P50))
	c, s := encoderConfig(2, 64, 128, min(64, max(16, powerOfTwo(length)))), quickSettings(0, 16, 0.01)
	if length > longRow {
		s.Batch = 8
	}
	tokens, epochLimit := runTokens, maxEpochs
	switch kind := tokenizers.TypeOf(m.Tokenizer); {
	case kind == new(tokenizers.Words).Type() && m.Task == seq.Retrieval:
		setTextPairs(&c, &s)
		tokens = pairTokens
	case kind == new(tokenizers.AudioVQ).Type():
		setSpectra(&c, &s)
		epochLimit = maxNoisyEpochs
	case kind == new(tokenizers.MuLaw).Type():
		setSamples(&c, &s)
		tokens = audioTokens
	case kind == new(tokenizers.Pixel).Type():
		s.EmbeddingInit = config.FourierInit
	}
	if f.Batch > 0 {
		s.Batch = f.Batch
	}
	if f.Schedule != "" {
		SetSchedule(&s, f.Schedule)
	}
	c.SamplerNoise = "always"
	if m.EdgeFeatureNames != nil { // a node that is not sampled would be missing as a neighbour
		for length := int(train.Lengths.P95); c.NumSampledTokens < min(64, length); {
			c.NumSampledTokens *= 2
		}
	}
	if m.FeatureNames != nil {
		setFeatures(&c, &s)
	}
	if !unordered(m) {
		c.Convolutions = convolutionsFor(m.Tokenizer, length)
	}
	// A regression on features adds up measurements. Dropout would remove some of the terms.
	if train.Rows < minRowsWithoutDropout && (m.FeatureNames == nil || m.Task != seq.Regression) {
		c.EmbeddingDropout, c.FeedForward = 0.1, 0.2
	}
	rows := max(1, float64(train.Rows))
	epochs := min(tokens/(rows*max(1, train.Lengths.Mean)), float64(maxSteps*s.Batch)/rows)
	s.Epochs = min(epochLimit, max(minEpochs, int(epochs)))
	if f.Epochs > 0 {
		s.Epochs = f.Epochs
	}
	if f.Steps > 0 {
		s.Steps, s.Epochs = f.Steps, int(math.Ceil(float64(f.Steps*s.Batch)/rows))
	}
	if !s.FollowsEnd() {
		s.StepSize = max(1, s.Epochs/10)
		s.DecayRate = math.Pow(finalRate, float64(s.StepSize)/float64(s.Epochs))
	}
	s.EvalEvery = max(1, stepsOf(&s, train.Rows)/evaluations)
	s.LogEvery = 20 // a run may have only a few steps
	return &Preset{Name: "quick", Description: DescribeRun(&c, &s), Config: c, Settings: s}
}

// stepsOf returns the number of steps of a run with the given number of training rows.
func stepsOf(s *train.Settings, rows int64) int {
	if s.Steps > 0 {
		return s.Steps
	}
	return s.Epochs * int(math.Ceil(max(1, float64(rows))/float64(s.Batch)))
}

// setTextPairs changes the settings for pairs of texts in words. The words that both texts share
// matter most, as in the cosine of two bags of words. The model therefore has one wide layer whose
// branches begin at zero, so that the initial embedding of a text is the mean of its word
// embeddings.
func setTextPairs(c *sft.Config, s *train.Settings) {
	*c = encoderConfig(1, 256, 256, 16)
	c.ResidualScale = true
	s.Batch *= 2
	setCosineDecay(s)
}

// setSpectra changes the settings for audio spectra. A sound keeps its class when some spectra are
// missing or wrong, so the settings add such noise to augment the training data.
func setSpectra(c *sft.Config, s *train.Settings) {
	c.NumLayers = 3
	s.TokenDeletion, s.TokenReplacement = 0.3, 0.15
	s.EmbeddingInit = config.CodebookInit
	setCosineDecay(s)
}

// setSamples changes the settings for audio samples, whose ids are levels.
func setSamples(c *sft.Config, s *train.Settings) {
	c.NumLayers, c.NumSampledTokens = 3, 16
	s.TokenDeletion, s.TokenReplacement = 0.02, 0.05
	s.EmbeddingInit = config.FourierInit
	setCosineDecay(s)
}

// unordered reports whether the tokens are points or nodes, whose order has no meaning. Other
// tokens with features are the steps of a time series.
func unordered(m *seq.Manifest) bool {
	return m.EdgeFeatureNames != nil || seq.Points(m.FeatureNames) != nil
}

// setFeatures changes the settings for tokens with features. In graphs, a third layer lets information
// travel over three edges.
func setFeatures(c *sft.Config, s *train.Settings) {
	c.NumLayers = 3
	setCosineDecay(s)
}

// setCosineDecay sets a peak learning rate of 2e-3 that decays to zero along half a cosine.
func setCosineDecay(s *train.Settings) {
	s.LearningRate = 2e-3
	SetSchedule(s, "cosine")
}

// convolutionsFor returns the convolutions through which a layer reads the tokens around each token. In
// long rows they also read distant tokens. It returns none for words, where convolutions did not
// improve the accuracy.
func convolutionsFor(tokenizer json.RawMessage, length int) []config.Convolution {
	switch kind := tokenizers.TypeOf(tokenizer); {
	case kind == new(tokenizers.Words).Type():
		return nil
	case kind == new(tokenizers.AudioVQ).Type(): // reach the adjacent parts of a sound
		return []config.Convolution{{KernelSize: 5, Dilation: 1}, {KernelSize: 5, Dilation: 4}}
	case kind == new(tokenizers.MuLaw).Type(): // cover one formant period to several pitch periods
		return []config.Convolution{{KernelSize: 9, Dilation: 1}, {KernelSize: 9, Dilation: 4},
			{KernelSize: 9, Dilation: 16}, {KernelSize: 9, Dilation: 64}}
	case length > longRow:
		return []config.Convolution{{KernelSize: 15, Dilation: 1}, {KernelSize: 15, Dilation: 8}}
	}
	return []config.Convolution{{KernelSize: 7, Dilation: 1}}
}

// DescribeRun returns the main settings of a run in one line.
func DescribeRun(c *sft.Config, s *train.Settings) string {
	end := fmt.Sprintf("epochs %d", s.Epochs)
	if s.Steps > 0 {
		end = fmt.Sprintf("steps %d", s.Steps)
	}
	text := fmt.Sprintf("hidden %d, layers %d, k %d, convolutions %s, batch %d, %s, dropout %g",
		c.HiddenSize, c.NumLayers, c.NumSampledTokens, config.FormatConvolutions(c.Convolutions),
		s.Batch, end, c.FeedForward)
	if n := c.MovingAverages; n > 0 {
		text += fmt.Sprintf(", moving averages %d", n)
	}
	if s.FollowsEnd() {
		text += ", schedule " + s.Schedule
	}
	if s.EmbeddingInit != "" {
		text += ", embeddings " + s.EmbeddingInit
	}
	if s.TokenDeletion > 0 || s.TokenReplacement > 0 {
		text += fmt.Sprintf(", %g%% of tokens dropped and %g%% replaced",
			100*s.TokenDeletion, 100*s.TokenReplacement)
	}
	return text
}

// powerOfTwo returns the largest power of two up to n, at least 1.
func powerOfTwo(n int) int { return 1 << max(0, bits.Len(uint(max(0, n)))-1) }
