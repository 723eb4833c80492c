package lra

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// CustomName is the name of the task that [Custom] makes.
const CustomName = "custom"

// Custom is the task of a data set of the user's own: what it asks for is in its
// manifest, and its one preset is chosen from that.
func Custom(m *seq.Manifest) *Task { return CustomRun(m, RunFlags{}) }

// RunFlags are the flags that the settings of [CustomRun] follow from, beside the data. Zero leaves
// the choice to the data.
type RunFlags struct {
	InputWindow int // tokens read of a row
	Batch       int
	Epochs      int
	Steps       int    // in place of Epochs
	Schedule    string // of [sft.Schedules]
}

// CustomRun is [Custom] for a run with flags: epochs, batch, convolutions, schedule and evaluations
// suit the tokens that the model reads and the length of the run.
func CustomRun(m *seq.Manifest, f RunFlags) *Task {
	return &Task{
		Name:        CustomName,
		Description: "what a data set of your own asks for, with settings chosen from it",
		Kind:        m.Task,
		Tokenizer:   m.Tokenizer,
		Labels:      m.LabelNames,
		Presets:     []*Preset{ownData(m, f)},
		Import:      &Importer{Example: "sftseq data convert --from reviews.csv --to data/reviews --text review --label stars"},
	}
}

// What decides the settings for data of the user's own. They were chosen by the validation
// split of seven data sets: docs/adr/0017-settings-from-the-data.md has what was tried, and
// docs/results.md what pairs of words reach.
const (
	mostSteps      = 15000
	tokensOfRun    = 200e6 // what two cores do in half an hour
	tokensCompared = 60e6  // of pairs of words, which a wider model reads
	tokensHeard    = 100e6 // of sound by its samples, whose convolutions cost more
	fewRows        = 20000 // below which a model soon knows them by heart
	fewestEpochs   = 2
	mostEpochs     = 60
	mostVaried     = 100  // epochs, where noise makes each of them another
	evaluations    = 15   // of a run
	warmupSteps    = 100  // of a run of ten times as many or more
	finalRate      = 0.1  // of a rate that falls by a factor, at the end of the run
	longRow        = 2048 // tokens
)

// ownData is customPreset with what protects a run on data of the user's own: a rate that follows the
// length of the run, the model of least loss at about the best accuracy, early stopping, and
// calibrated probabilities.
func ownData(m *seq.Manifest, f RunFlags) *Preset {
	p := customPreset(m, f)
	s := &p.Settings
	if rows := int(m.Splits["val"].Rows); f.Epochs > 0 || f.Steps > 0 { // a short run is not spent on evaluations
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
		s.Select = sft.OneStandardError
	}
	p.Description = DescribeRun(&p.Config, s)
	return p
}

// customPreset is many small batches, which teach more than few large ones, as long as
// half an hour of two cores; a sample of as many tokens as a row has, where there are few;
// a rate that falls, mostly to a tenth; and dropout where rows are few. Tokens are sampled by chance outside of
// training, too: the best ones by score may all be the same token, as the loudest samples
// of a sound are, and a model that was trained on others then answers wrong.
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
	tokens, most := tokensOfRun, mostEpochs
	switch kind := tokenizers.TypeOf(m.Tokenizer); {
	case kind == new(tokenizers.Words).Type() && m.Task == seq.Retrieval:
		pairsOfWords(&c, &s)
		tokens = tokensCompared
	case kind == new(tokenizers.AudioVQ).Type():
		spectra(&c, &s)
		most = mostVaried
	case kind == new(tokenizers.MuLaw).Type():
		samples(&c, &s)
		tokens = tokensHeard
	case kind == new(tokenizers.Pixel).Type():
		s.EmbeddingInit = sft.FourierInit
	}
	if f.Batch > 0 {
		s.Batch = f.Batch
	}
	if f.Schedule != "" {
		SetSchedule(&s, f.Schedule)
	}
	c.SamplerNoise = "always"
	if m.EdgeFeatureNames != nil { // a node that is not sampled is no neighbour
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
	// Numbers of features are measured sums, which a model without some of its channels gets wrong.
	if train.Rows < fewRows && (m.FeatureNames == nil || m.Task != seq.Regression) {
		c.EmbeddingDropout, c.FeedForward = 0.1, 0.2
	}
	rows := max(1, float64(train.Rows))
	epochs := min(tokens/(rows*max(1, train.Lengths.Mean)), float64(mostSteps*s.Batch)/rows)
	s.Epochs = min(most, max(fewestEpochs, int(epochs)))
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
	s.LogEvery = 20 // there may be few steps
	return &Preset{Name: "quick", Description: DescribeRun(&c, &s), Config: c, Settings: s}
}

// stepsOf returns the number of steps of a run on a number of rows.
func stepsOf(s *sft.Settings, rows int64) int {
	if s.Steps > 0 {
		return s.Steps
	}
	return s.Epochs * int(math.Ceil(max(1, float64(rows))/float64(s.Batch)))
}

// pairsOfWords compares two texts. Which words they share says most, as a cosine of bags of
// words does: so one wide layer, whose branches begin at nothing, that the embedding of a
// text begins as the mean of its words'.
func pairsOfWords(c *sft.Config, s *sft.Settings) {
	*c = encoder(1, 256, 256, 16)
	c.ResidualScale = true
	s.Batch *= 2
	fallsToNothing(s)
}

// spectra are those of sound, which stays what it is where some of them are missing or
// wrong: noise makes more rows of few.
func spectra(c *sft.Config, s *sft.Settings) {
	c.NumLayers = 3
	s.TokenDeletion, s.TokenReplacement = 0.3, 0.15
	s.EmbeddingInit = sft.CodebookInit
	fallsToNothing(s)
}

// samples are those of sound, which are levels.
func samples(c *sft.Config, s *sft.Settings) {
	c.NumLayers, c.NumSampledTokens = 3, 16
	s.TokenDeletion, s.TokenReplacement = 0.02, 0.05
	s.EmbeddingInit = sft.FourierInit
	fallsToNothing(s)
}

// unordered reports whether tokens are points or nodes, which have no neighbours in their order. Other
// features are those of the steps of a series.
func unordered(m *seq.Manifest) bool {
	return m.EdgeFeatureNames != nil || seq.Points(m.FeatureNames) != nil
}

// features are those of points, which have no neighbours in their order, and of nodes, whose
// neighbours a third layer takes further.
func features(c *sft.Config, s *sft.Settings) {
	c.NumLayers = 3
	fallsToNothing(s)
}

// fallsToNothing is a learning rate along half a cosine, from a high one.
func fallsToNothing(s *sft.Settings) {
	s.LearningRate = 2e-3
	SetSchedule(s, "cosine")
}

// neighbours are the convolutions by which a layer reads what stands around a token, of
// long rows also what stands further away. Words mean much alone, and gained nothing.
func neighbours(tokenizer json.RawMessage, length int) []sft.Convolution {
	switch kind := tokenizers.TypeOf(tokenizer); {
	case kind == new(tokenizers.Words).Type():
		return nil
	case kind == new(tokenizers.AudioVQ).Type(): // from a part of a sound to those that stand beside it
		return []sft.Convolution{{KernelSize: 5, Dilation: 1}, {KernelSize: 5, Dilation: 4}}
	case kind == new(tokenizers.MuLaw).Type(): // from a period of a voice's formants to several of its pitch
		return []sft.Convolution{{KernelSize: 9, Dilation: 1}, {KernelSize: 9, Dilation: 4},
			{KernelSize: 9, Dilation: 16}, {KernelSize: 9, Dilation: 64}}
	case length > longRow:
		return []sft.Convolution{{KernelSize: 15, Dilation: 1}, {KernelSize: 15, Dilation: 8}}
	}
	return []sft.Convolution{{KernelSize: 7, Dilation: 1}}
}

// DescribeRun is a run's numbers in a line.
func DescribeRun(c *sft.Config, s *sft.Settings) string {
	end := fmt.Sprintf("epochs %d", s.Epochs)
	if s.Steps > 0 {
		end = fmt.Sprintf("steps %d", s.Steps)
	}
	text := fmt.Sprintf("hidden %d, layers %d, k %d, convolutions %s, batch %d, %s, dropout %g",
		c.HiddenSize, c.NumLayers, c.NumSampledTokens, sft.FormatConvolutions(c.Convolutions),
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

// powerOfTwo is the largest one up to n, or 1.
func powerOfTwo(n int) int { return 1 << max(0, bits.Len(uint(max(0, n)))-1) }
