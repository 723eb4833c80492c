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

// CustomName is the name of the task that [Custom] makes.
const CustomName = "custom"

// Custom returns the task of a user's data set. It follows from the manifest, and its only preset
// is chosen by the manifest.
func Custom(m *seq.Manifest) *Task { return CustomRun(m, RunFlags{}) }

// RunFlags are the flags that affect the settings of [CustomRun]. A zero leaves the choice to the
// data.
type RunFlags struct {
	InputWindow int // tokens read per row
	Batch       int
	Epochs      int
	Steps       int    // instead of Epochs
	Schedule    string // one of [train.Schedules]
}

// CustomRun is [Custom] for a run with flags: epochs, batch, convolutions, schedule and evaluations
// depend on the tokens that the model reads and on the length of the run.
func CustomRun(m *seq.Manifest, f RunFlags) *Task {
	return &Task{
		Name:        CustomName,
		Description: "a data set of your own, with settings chosen from its manifest",
		Kind:        m.Task,
		Tokenizer:   m.Tokenizer,
		Labels:      m.LabelNames,
		Presets:     []*Preset{ownData(m, f)},
		Import:      &Importer{Example: "sftseq data convert --from reviews.csv --to data/reviews --text review --label stars"},
	}
}

// The constants of the settings for users' data. They were chosen on the validation splits of seven
// data sets: docs/adr/0017-settings-from-the-data.md lists the experiments, and docs/results.md the
// accuracy on pairs of words.
const (
	maxSteps       = 15000
	tokensOfRun    = 200e6 // half an hour on two cores
	tokensCompared = 60e6  // for pairs of words, which use a wider model
	tokensHeard    = 100e6 // for audio samples, whose convolutions cost more
	fewRows        = 20000 // smaller training splits are soon overfitted
	minEpochs      = 2
	maxEpochs      = 60
	maxVaried      = 100  // epochs, if noise varies the rows in each
	evaluations    = 15   // per run
	warmupSteps    = 100  // for runs of at least ten times this number
	finalRate      = 0.1  // for an exponential decay, as a fraction of the peak rate
	longRow        = 2048 // tokens
)

// ownData is customPreset with safeguards for users' data: a rate that follows the length of the
// run, selection of the model with the least loss among those of about the best accuracy, early
// stopping, and calibrated probabilities.
func ownData(m *seq.Manifest, f RunFlags) *Preset {
	p := customPreset(m, f)
	s := &p.Settings
	if rows := int(m.Splits["val"].Rows); f.Epochs > 0 || f.Steps > 0 { // few evaluations in a short run
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

// customPreset chooses many small batches, which train better than few large ones, within half an
// hour on two cores. It samples as many tokens as a short row has, uses a decaying rate, mostly
// down to a tenth, and dropout for few rows. Tokens are also sampled at random outside of training:
// the best ones by score may all be the same token, such as the loudest samples of a sound, and a
// model that was trained on random samples then predicts wrong classes.
func customPreset(m *seq.Manifest, f RunFlags) *Preset {
	train := m.Splits["train"]
	if w := int64(f.InputWindow); w > 0 {
		l := &train.Lengths
		l.P50, l.P95, l.Mean = min(l.P50, w), min(l.P95, w), min(l.Mean, float64(w))
	}
	length := max(1, int(train.Lengths.P50))
	c, s := encoder(2, 64, 128, min(64, max(16, powerOfTwo(length)))), quick(0, 16, 0.01)
	if length > longRow {
		s.Batch = 8
	}
	tokens, most := tokensOfRun, maxEpochs
	switch kind := tokenizers.TypeOf(m.Tokenizer); {
	case kind == new(tokenizers.Words).Type() && m.Task == seq.Retrieval:
		pairsOfWords(&c, &s)
		tokens = tokensCompared
	case kind == new(tokenizers.AudioVQ).Type():
		spectra(&c, &s)
		most = maxVaried
	case kind == new(tokenizers.MuLaw).Type():
		samples(&c, &s)
		tokens = tokensHeard
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
	if m.EdgeFeatureNames != nil { // an unsampled node would be missing as a neighbour
		for most := int(train.Lengths.P95); c.NumSampledTokens < min(64, most); {
			c.NumSampledTokens *= 2
		}
	}
	if m.FeatureNames != nil {
		features(&c, &s)
	}
	if !unordered(m) {
		c.Convolutions = neighbours(m.Tokenizer, length)
	}
	// Features with numbers as targets are sums of measurements, which a model without some of its
	// channels gets wrong.
	if train.Rows < fewRows && (m.FeatureNames == nil || m.Task != seq.Regression) {
		c.EmbeddingDropout, c.FeedForward = 0.1, 0.2
	}
	rows := max(1, float64(train.Rows))
	epochs := min(tokens/(rows*max(1, train.Lengths.Mean)), float64(maxSteps*s.Batch)/rows)
	s.Epochs = min(most, max(minEpochs, int(epochs)))
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
	s.LogEvery = 20 // a run may have few steps
	return &Preset{Name: "quick", Description: DescribeRun(&c, &s), Config: c, Settings: s}
}

// stepsOf returns the number of steps of a run on the given number of rows.
func stepsOf(s *train.Settings, rows int64) int {
	if s.Steps > 0 {
		return s.Steps
	}
	return s.Epochs * int(math.Ceil(max(1, float64(rows))/float64(s.Batch)))
}

// pairsOfWords sets up a comparison of two texts. The words that they share decide most, as in a
// cosine of bags of words. The model is therefore one wide layer whose branches begin at zero, so
// that the initial embedding of a text is the mean of its word embeddings.
func pairsOfWords(c *sft.Config, s *train.Settings) {
	*c = encoder(1, 256, 256, 16)
	c.ResidualScale = true
	s.Batch *= 2
	fallsToNothing(s)
}

// spectra sets up audio spectra. A sound keeps its class when some spectra are missing or wrong, so
// noise augments small data sets.
func spectra(c *sft.Config, s *train.Settings) {
	c.NumLayers = 3
	s.TokenDeletion, s.TokenReplacement = 0.3, 0.15
	s.EmbeddingInit = config.CodebookInit
	fallsToNothing(s)
}

// samples sets up audio samples, which are levels.
func samples(c *sft.Config, s *train.Settings) {
	c.NumLayers, c.NumSampledTokens = 3, 16
	s.TokenDeletion, s.TokenReplacement = 0.02, 0.05
	s.EmbeddingInit = config.FourierInit
	fallsToNothing(s)
}

// unordered reports whether the tokens are points or nodes, whose order has no meaning. Other
// features are those of the steps of a time series.
func unordered(m *seq.Manifest) bool {
	return m.EdgeFeatureNames != nil || seq.Points(m.FeatureNames) != nil
}

// features sets up points, which have no neighbours in their order, and nodes, for which a third
// layer extends the reach over edges.
func features(c *sft.Config, s *train.Settings) {
	c.NumLayers = 3
	fallsToNothing(s)
}

// fallsToNothing sets a learning rate that decays along half a cosine from a high value to zero.
func fallsToNothing(s *train.Settings) {
	s.LearningRate = 2e-3
	SetSchedule(s, "cosine")
}

// neighbours returns the convolutions with which a layer reads the tokens around each token, and in
// long rows also distant ones. Words get none, as convolutions did not improve them.
func neighbours(tokenizer json.RawMessage, length int) []config.Convolution {
	switch kind := tokenizers.TypeOf(tokenizer); {
	case kind == new(tokenizers.Words).Type():
		return nil
	case kind == new(tokenizers.AudioVQ).Type(): // from a part of a sound to the adjacent ones
		return []config.Convolution{{KernelSize: 5, Dilation: 1}, {KernelSize: 5, Dilation: 4}}
	case kind == new(tokenizers.MuLaw).Type(): // from a period of a voice's formants to several of its pitch
		return []config.Convolution{{KernelSize: 9, Dilation: 1}, {KernelSize: 9, Dilation: 4},
			{KernelSize: 9, Dilation: 16}, {KernelSize: 9, Dilation: 64}}
	case length > longRow:
		return []config.Convolution{{KernelSize: 15, Dilation: 1}, {KernelSize: 15, Dilation: 8}}
	}
	return []config.Convolution{{KernelSize: 7, Dilation: 1}}
}

// DescribeRun summarises a run's settings in one line.
func DescribeRun(c *sft.Config, s *train.Settings) string {
	end := fmt.Sprintf("epochs %d", s.Epochs)
	if s.Steps > 0 {
		end = fmt.Sprintf("steps %d", s.Steps)
	}
	text := fmt.Sprintf("hidden %d, layers %d, k %d, convolutions %s, batch %d, %s, dropout %g",
		c.HiddenSize, c.NumLayers, c.NumSampledTokens, config.FormatConvolutions(c.Convolutions),
		s.Batch, end, c.FeedForward)
	if s.FollowsEnd() {
		text += ", schedule " + s.Schedule
	}
	if s.EmbeddingInit != "" {
		text += ", embeddings " + s.EmbeddingInit
	}
	if s.TokenDeletion > 0 || s.TokenReplacement > 0 {
		text += fmt.Sprintf(", of the tokens %g%% left out and %g%% replaced",
			100*s.TokenDeletion, 100*s.TokenReplacement)
	}
	return text
}

// powerOfTwo returns the largest power of two up to n, at least 1.
func powerOfTwo(n int) int { return 1 << max(0, bits.Len(uint(max(0, n)))-1) }
