package configtest

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/sft/config"
)

// ConfigText returns the JSON of [TinyConfig] with the keys in change set to their values. A nil
// value removes the key.
func ConfigText(t testing.TB, change map[string]any) []byte {
	t.Helper()
	text := must.Get(json.Marshal(TinyConfig()))(t)
	var keys map[string]any
	must.Succeed(t, json.Unmarshal(text, &keys))
	for k, v := range change {
		if v == nil {
			delete(keys, k)
		} else {
			keys[k] = v
		}
	}
	text = must.Get(json.Marshal(keys))(t)
	return text
}

// FullConfig returns a valid configuration of the task fill-mask with nearly every key set.
// TestConfigKeys sets the other keys.
func FullConfig() *config.Config {
	c := WithTask(TinyConfig(), config.FillMask)
	c.PadTokenID, c.LabelNames, c.InputWindow = new(int32(0)), strings.Split("abcdefgh", ""),
		&config.InputWindow{Length: 10, Policy: "head"}
	c.Convolutions = []config.Convolution{{KernelSize: 5, Dilation: 1}, {KernelSize: 3, Dilation: 32}}
	c.MovingAverages = 3
	// Only regression reads the next two keys, and only multi-label reads Thresholds.
	c.Numbers, c.RegressionLoss = []config.Number{{Name: "mass", Mean: 1, Deviation: 2}}, config.Squared
	c.Thresholds = []float64{0, 0.25, 0.5, 0.75, 1, 0.5, 0.5, 0.5}
	c.SamplerNoise, c.SamplerSeed, c.Extra = "always", math.MaxUint64, json.RawMessage(`{"why":[1,null]}`)
	c.AutoMap = json.RawMessage(`{"AutoModel":"modeling_sft.SFTModel"}`)
	for _, f := range Switches(c) {
		f.SetBool(true)
	}
	rate, fields := 0.1, reflect.ValueOf(c).Elem()
	for _, field := range reflect.VisibleFields(fields.Type()) {
		if f := fields.FieldByIndex(field.Index); f.IsZero() && f.CanFloat() {
			f.SetFloat(rate)
			rate += 0.1
		}
	}
	return c
}

// GoldenConfig returns a small configuration for a task, with a vocabulary of 18 ids, in which 0 is the
// padding. For fill-mask the caller sets MaskTokenID and NumLabels.
func GoldenConfig(task string) *config.Config {
	c := WithTask(TinyConfig(), task)
	c.VocabSize, c.PadTokenID = 18, new(int32(0))
	c.HiddenSize, c.NumHeads, c.NumLayers, c.IntermediateSize, c.SinusoidDim, c.SinusoidBase = 8, 2, 1, 12, 6, 10000
	c.MaxLength, c.SamplerSeed = 4096, 20240812
	return c
}

// FillMaskConfigs returns fill-mask configurations with pre-norm and post-norm, each with and without
// tied embeddings.
func FillMaskConfigs() (out []*config.Config) {
	for _, norm := range []string{"pre", "post"} {
		for _, tied := range []bool{false, true} {
			c := WithTask(TinyConfig(), config.FillMask)
			c.NormPosition, c.TieEmbeddings, c.NumLayers = norm, tied, 1
			out = append(out, c)
		}
	}
	return out
}

// LargeVocabularyConfig returns a fill-mask configuration with a vocabulary of 20,001 ids. The logits take
// most of the memory of a pass.
func LargeVocabularyConfig() *config.Config {
	c := WithTask(TinyConfig(), config.FillMask)
	c.VocabSize, c.NumLabels, c.MaskTokenID = 20001, 20000, new(int32(20000))
	c.MaskRate = 0.15
	return c
}

// TinyConfig returns the configuration of a classifier with two small layers and relative position bias.
func TinyConfig() *config.Config {
	return &config.Config{
		ModelType: "sft",
		Task:      config.Classification,
		Inputs:    config.Inputs{VocabSize: 9, MaxLength: 1 << 20, Tokenizer: json.RawMessage(`{"type":"listops"}`)},
		Encoder: config.Encoder{HiddenSize: 6, NumLayers: 2, IntermediateSize: 7,
			NormPosition: "pre", LayerNormEps: 1e-5},
		Attention: config.Attention{NumHeads: 2, SinusoidDim: 4, SinusoidBase: 100, Score: "maxout",
			Probability: "leaky_relu", Relative: "sinusoid_hadamard"},
		Sampler: config.Sampler{NumSampledTokens: 5, SamplerSeed: 7, SamplerNoise: "train"},
		Head:    config.Head{NumLabels: 3},
	}
}

// WithTask sets the task of c, with the mask, the numbers or the tags that the task requires, and returns c.
func WithTask(c *config.Config, task string) *config.Config {
	c.Task = task
	switch c.Kind() {
	case config.MaskedTokens:
		c.NumLabels, c.MaskTokenID, c.MaskRate, c.MaskSpan = c.VocabSize-1, new(int32(c.VocabSize-1)), 0.3, 2
	case config.Numbers:
		c.LabelNames, c.NumLabels = nil, 2
		c.Numbers = []config.Number{{Name: "mass", Mean: 3.5, Deviation: 2},
			{Name: "charge", Mean: -100, Deviation: 0.25}}
	case config.Tags:
		c.LabelNames, c.NumLabels = []string{"O", "B-X", "I-X"}, 3
	}
	return c
}

// Switches returns the boolean keys of c that its task reads.
func Switches(c *config.Config) (out []reflect.Value) {
	fields := reflect.ValueOf(c).Elem()
	for _, field := range reflect.VisibleFields(fields.Type()) {
		if field.Name == "TieEmbeddings" && c.Task != config.FillMask {
			continue
		}
		if f := fields.FieldByIndex(field.Index); f.Kind() == reflect.Bool {
			out = append(out, f)
		}
	}
	return out
}

// RandomConfigs returns a configuration for each combination of score and probability, with sinusoids and
// without a relative position bias, and two configurations without attention. Most other keys vary.
func RandomConfigs() []*config.Config {
	random := rand.New(rand.NewPCG(5, 6))
	pick := func(s ...string) string { return s[random.IntN(len(s))] }
	var out []*config.Config
	for _, score := range []string{"maxout", "maxout_standardized", "lily", "dot"} {
		for _, probability := range []string{"leaky_relu", "relu", "softmax"} {
			for _, relative := range []string{"sinusoid_hadamard", "none"} {
				c := TinyConfig()
				c.Score, c.Probability, c.Relative = score, probability, relative
				c.Task, c.NormPosition = pick(config.Classification, config.Retrieval), pick("pre", "post")
				c.SamplerNoise = pick("train", "always")
				for _, f := range Switches(c) {
					f.SetBool(random.IntN(2) == 0)
				}
				c.NumHeads = 1 + random.IntN(3)
				c.HiddenSize = c.NumHeads * (1 + random.IntN(6))
				c.NumLayers, c.NumSampledTokens = 1+random.IntN(2), 1+random.IntN(60)
				c.SinusoidDim, c.IntermediateSize = 2*(1+random.IntN(5)), 1+random.IntN(20)
				c.Convolutions = [][]config.Convolution{nil, {{KernelSize: 3, Dilation: 1}},
					{{KernelSize: 5, Dilation: 2}, {KernelSize: 1, Dilation: 1}},
					{{KernelSize: 63, Dilation: 40}}}[len(out)%4]
				c.MovingAverages = []int{0, 1, 4, 0, 5}[len(out)%5]
				c.Pooling, c.PoolingSamples = []string{"", config.MaxPooling, config.MaxPooling}[len(out)%3],
					[]int{0, 0, 7}[len(out)%3]
				out = append(out, c)
			}
		}
	}
	for i, norm := range []string{"pre", "post"} { // without attention
		c := TinyConfig()
		c.NumSampledTokens, c.Relative, c.NormPosition, c.ResidualScale = 0, config.NoRelation, norm, i == 0
		c.Convolutions = [][]config.Convolution{{{KernelSize: 3, Dilation: 2}}, nil}[i]
		c.MovingAverages = []int{2, 0}[i]
		c.Pooling, c.PoolingSamples = []string{"", config.MaxPooling}[i], []int{0, 7}[i]
		out = append(out, c)
	}
	return out
}

// TrainingConfig returns a configuration in which every rate of [config.Regularization] is above 0.
func TrainingConfig() *config.Config {
	c := TinyConfig()
	c.NumLayers, c.DropToken, c.AttentionDropout, c.EmbeddingDropout, c.FeedForward,
		c.ResidualScale = 1, 0.3, 0.1, 0.1, 0.2, true
	c.Convolutions = []config.Convolution{{KernelSize: 5, Dilation: 1}, {KernelSize: 3, Dilation: 9}}
	c.MovingAverages = 4
	return c
}

// TokenNGrams returns a small table of unigrams and bigrams of tokens.
func TokenNGrams() *config.NGrams {
	return &config.NGrams{Units: ngram.Tokens, MinN: 1, MaxN: 2, Slots: 1 << 10, MinCount: 1, Dropout: 0.1}
}

// ByteNGrams returns a small table of n-grams of bytes and of words.
func ByteNGrams() *config.NGrams {
	return &config.NGrams{Units: ngram.Bytes, MinN: 2, MaxN: 3, Slots: 1 << 10, MinCount: 1, MaxWords: 2}
}
