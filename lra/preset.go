package lra

import (
	"fmt"
	"strings"

	"github.com/sftseq/sftseq/sft"
)

// A Preset is a way to train on a task: a model, the settings of a run and the
// data it is meant for.
type Preset struct {
	Name        string
	Description string
	// Config is the model, beside what the data decides: task, vocabulary, labels and
	// tokenizer.
	Config   sft.Config
	Settings sft.Settings
	// Data generates the data set; its DataName changes with its contents.
	Data     GenerateOptions
	DataName string
	// Reached is what it has reached, nil if it was never trained, or if Measured says it.
	Reached *Reached
	// Measured is what it has reached where docs/results.md has that, in words; otherwise "".
	Measured string
}

// Reached is what a run of a preset has reached on the test split, in percent, beside a
// simple model, and how long it takes two cores with AVX2: the tables of docs/results.md.
type Reached struct {
	Accuracy       float64
	Simple         string // what the simple model is
	SimpleAccuracy float64
	Minutes        int
}

// Preset returns a task's preset by its name; "" is the usual one.
func (t *Task) Preset(name string) (*Preset, error) {
	var names []string
	for _, p := range t.Presets {
		if p.Name == name || name == "" {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return nil, fmt.Errorf("task %s: preset %q is not known; known presets: %s", t.Name, name,
		strings.Join(names, ", "))
}

// encoder is the paper's model of a size: layers of hidden channels in four heads, which
// attend to sampled tokens.
func encoder(layers, hidden, intermediate, sampled int) sft.Config {
	c := baseConfig()
	c.NumLayers, c.NumHeads, c.HiddenSize, c.SinusoidDim, c.IntermediateSize = layers, 4, hidden, hidden, intermediate
	c.NumSampledTokens = sampled
	return c
}

// featured is the paper's model of clouds and of graphs, in a size: in sixteen heads, with the norms
// behind the branches.
func featured(layers, hidden, sampled int, dropToken, embeddingDropout float64) sft.Config {
	c := encoder(layers, hidden, 4*hidden, sampled)
	c.NumHeads, c.NormPosition = 16, "post"
	c.DropToken, c.AttentionDropout, c.EmbeddingDropout, c.FeedForward = dropToken, 0.1, embeddingDropout, 0.2
	return c
}

// featuredQuick is a small model of the same kind, which samples by chance outside of training, too:
// the best tokens by score may all be alike, as in [Custom].
func featuredQuick(layers, sampled int) sft.Config {
	c := encoder(layers, 64, 128, sampled)
	c.SamplerNoise, c.EmbeddingDropout, c.FeedForward = "always", 0.1, 0.2
	return c
}

// invariant is a model that knows points by their distances alone, which no rotation changes.
func invariant(c sft.Config) sft.Config {
	c.Input = sft.OnesInput
	return c
}

// with is a configuration, or settings, after a change.
func with[T any](x T, change func(*T)) T {
	change(&x)
	return x
}

// published are the settings that the paper's runs share.
func published(epochs, batch int, weightDecay float64) sft.Settings {
	return sft.Settings{Epochs: epochs, Batch: batch, LearningRate: 1e-3, WeightDecay: weightDecay,
		StepSize: 20, DecayRate: 0.9,
		MaxGradNorm: 1, Warmup: "untuned", LogEvery: 10}
}

// stepped are the settings that the paper's runs on clouds and graphs share.
func stepped(epochs int, rate, weightDecay, decayRate float64) sft.Settings {
	s := published(epochs, 32, weightDecay)
	s.LearningRate, s.StepSize, s.DecayRate = rate, 30, decayRate
	return s
}

// scaledPoints has training scale clouds as the paper's does.
func scaledPoints(s sft.Settings) sft.Settings {
	s.PointScale = []float64{0.6, 1.4}
	return s
}

// turnedPoints has training turn clouds about the axis z.
func turnedPoints(s sft.Settings) sft.Settings {
	s.PointRotation = "z"
	return s
}

// SetSchedule has the learning rate fall in one of the ways of [sft.Schedules]. Settings
// that do already keep their numbers; otherwise they become the paper's, and the final
// rate 0, or 0.1 of an exponential.
func SetSchedule(s *sft.Settings, schedule string) {
	followed := s.FollowsEnd()
	s.Schedule = schedule
	if schedule == "exponential" && s.FinalRate == 0 {
		s.FinalRate = finalRate
	}
	switch ends := s.FollowsEnd(); {
	case ends:
		s.StepSize, s.DecayRate = 0, 0
	case followed:
		paper := published(1, 1, 0)
		s.FinalRate, s.StepSize, s.DecayRate = 0, paper.StepSize, paper.DecayRate
	}
	if !s.FollowsEnd() {
		s.Schedule = "" // as in runs of before
	}
}

// quick are those of a small model on a processor: fewer examples at once, and soon at
// the full rate.
func quick(epochs, batch int, weightDecay float64) sft.Settings {
	s := published(epochs, batch, weightDecay)
	s.Warmup, s.LogEvery = "100", 50
	return s
}

// falling are the settings of small models whose learning rate falls along half a cosine:
// it may begin higher, and ends where a constant one goes to and fro.
func falling(epochs int, weightDecay float64) sft.Settings {
	s := quick(epochs, 16, weightDecay)
	s.LearningRate, s.Warmup = 2e-3, "300"
	SetSchedule(&s, "cosine")
	return s
}

// baseConfig holds what the presets share: the paper's model.
func baseConfig() sft.Config {
	return sft.Config{
		ModelType: "sft", MaxLength: 1 << 20, SinusoidBase: 10000, LayerNormEps: 1e-5, NormPosition: "pre",
		Score: "maxout", Probability: "leaky_relu", Relative: "sinusoid_hadamard",
		SamplerSeed: 20240812, SamplerNoise: "train",
	}
}
