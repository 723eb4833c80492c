package lra

import (
	"fmt"
	"strings"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// Preset is a training configuration of a task: a model, the settings of a run and the intended
// data.
type Preset struct {
	Name        string
	Description string
	// Config is the configuration of the model. The data determine its task, vocabulary, labels and
	// tokenizer.
	Config   sft.Config
	Settings train.Settings
	// Linear trains the linear model of n-grams. Config and Settings are then used only by pretraining,
	// by benchmarks and to resume a run of a model with layers.
	Linear bool
	// Data are the options that generate the data set called DataName. If the content changes,
	// DataName must change too.
	Data     GenerateOptions
	DataName string
	// Result is the test result. It is nil if the preset was never trained, or if the result is in
	// Measured.
	Result *Result
	// Measured is the documented result in words, or "".
	Measured string
}

// Result is the test result of a preset and of a baseline in percent, with the training time on two
// cores with AVX2. docs/results.md has the same numbers.
type Result struct {
	Accuracy         float64
	Baseline         string // name of the baseline
	BaselineAccuracy float64
	Minutes          int
}

// Preset returns a task's preset by its name. The name "" means the default preset.
func (t *Task) Preset(name string) (*Preset, error) {
	var names []string
	for _, p := range t.Presets {
		if p.Name == name || name == "" {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return nil, fmt.Errorf("preset %q: expected one of %s", name, strings.Join(names, ", "))
}

// encoderConfig returns the paper's model in the given size, with four heads per layer. sampled is the
// number of sampled tokens.
func encoderConfig(layers, hidden, intermediate, sampled int) sft.Config {
	c := baseConfig()
	c.NumLayers, c.NumHeads, c.HiddenSize, c.SinusoidDim, c.IntermediateSize = layers, 4, hidden, hidden, intermediate
	c.NumSampledTokens = sampled
	return c
}

// cloudConfig returns the paper's model of clouds and graphs in the given size. It has sixteen heads,
// and layer norms after the branches.
func cloudConfig(layers, hidden, sampled int, dropToken, embeddingDropout float64) sft.Config {
	c := encoderConfig(layers, hidden, 4*hidden, sampled)
	c.NumHeads, c.NormPosition = 16, "post"
	c.DropToken, c.AttentionDropout, c.EmbeddingDropout, c.FeedForward = dropToken, 0.1, embeddingDropout, 0.2
	return c
}

// cloudQuickConfig returns a small model of clouds and graphs, with four heads and layer norms before
// the branches. It samples tokens at random in evaluation too, for the reason stated at customPreset.
func cloudQuickConfig(layers, sampled int) sft.Config {
	c := encoderConfig(layers, 64, 128, sampled)
	c.SamplerNoise, c.EmbeddingDropout, c.FeedForward = "always", 0.1, 0.2
	return c
}

// rotationInvariant returns a rotation-invariant version of the model, which reads only the distances
// between points.
func rotationInvariant(c sft.Config) sft.Config {
	c.Input = config.OnesInput
	return c
}

// modified returns a copy of x that the function change has modified.
func modified[T any](x T, change func(*T)) T {
	change(&x)
	return x
}

// paperSettings returns the settings that the paper's runs share.
func paperSettings(epochs, batch int, weightDecay float64) train.Settings {
	return train.Settings{Epochs: epochs, Batch: batch, LearningRate: 1e-3, WeightDecay: weightDecay,
		StepSize: 20, DecayRate: 0.9,
		MaxGradNorm: 1, Warmup: "untuned", LogEvery: 10}
}

// paperCloudSettings returns the settings that the paper's runs on clouds and graphs share.
func paperCloudSettings(epochs int, rate, weightDecay, decayRate float64) train.Settings {
	s := paperSettings(epochs, 32, weightDecay)
	s.LearningRate, s.StepSize, s.DecayRate = rate, 30, decayRate
	return s
}

// withPointScale returns the settings with the paper's random scaling of clouds in training.
func withPointScale(s train.Settings) train.Settings {
	s.PointScale = []float64{0.6, 1.4}
	return s
}

// withPointRotation returns the settings with random rotations of clouds about the z axis in training.
func withPointRotation(s train.Settings) train.Settings {
	s.PointRotation = "z"
	return s
}

// SetSchedule sets one of [train.Schedules]. Settings that already have this schedule stay
// unchanged. A change to the step decay sets the paper's parameters. Any other schedule clears the
// parameters of the step decay and keeps the final rate. An exponential decay cannot end at 0, so it
// replaces a final rate of 0 by 0.1.
func SetSchedule(s *train.Settings, schedule string) {
	followed := s.FollowsEnd()
	s.Schedule = schedule
	if schedule == "exponential" && s.FinalRate == 0 {
		s.FinalRate = finalRate
	}
	switch ends := s.FollowsEnd(); {
	case ends:
		s.StepSize, s.DecayRate = 0, 0
	case followed: // back to the paper's step decay
		paper := paperSettings(1, 1, 0)
		s.FinalRate, s.StepSize, s.DecayRate = 0, paper.StepSize, paper.DecayRate
	}
	if !s.FollowsEnd() {
		s.Schedule = "" // older runs have no name for this schedule
	}
}

// quickSettings returns paperSettings for a small model on a CPU, with a short warmup and fewer log
// entries.
func quickSettings(epochs, batch int, weightDecay float64) train.Settings {
	s := paperSettings(epochs, batch, weightDecay)
	s.Warmup, s.LogEvery = "100", 50
	return s
}

// cosineSettings returns the settings for small models with a learning rate that decays to zero
// along half a cosine. The rate can begin higher than in paperSettings, and the loss does not
// oscillate at the end.
func cosineSettings(epochs int, weightDecay float64) train.Settings {
	s := quickSettings(epochs, 16, weightDecay)
	s.LearningRate, s.Warmup = 2e-3, "300"
	SetSchedule(&s, "cosine")
	return s
}

// baseConfig returns the paper's model, which the presets share.
func baseConfig() sft.Config {
	return sft.Config{
		ModelType: "sft",
		Inputs:    config.Inputs{MaxLength: 1 << 20},
		Encoder:   config.Encoder{LayerNormEps: 1e-5, NormPosition: "pre"},
		Attention: config.Attention{SinusoidBase: 10000, Score: "maxout", Probability: "leaky_relu",
			Relative: "sinusoid_hadamard"},
		Sampler: config.Sampler{SamplerSeed: 20240812, SamplerNoise: "train"},
	}
}

// tunedPreset returns customPreset's preset for the task's data, which the manifest describes. The
// function change then sets values that were found by measurement.
func tunedPreset(data *seq.Manifest, name, description string, change func(*sft.Config, *train.Settings)) *Preset {
	p := customPreset(data, RunFlags{})
	p.Name, p.Description = name, description
	change(&p.Config, &p.Settings)
	return p
}

// cloudsManifest returns the manifest of a data set with the given number of training clouds, all with
// the given number of points.
func cloudsManifest(rows, points int64) *seq.Manifest {
	return manifestFor(seq.Spec{Task: seq.Classification, FeatureNames: seq.PositionNames}, rows,
		seq.Quantiles{P50: points, P95: points, Mean: float64(points)})
}

// manifestFor returns the manifest of a data set with the given specification, number of training rows
// and lengths of these rows.
func manifestFor(s seq.Spec, rows int64, lengths seq.Quantiles) *seq.Manifest {
	return &seq.Manifest{Task: s.Task, Name: s.Name, LabelNames: s.LabelNames, NumberNames: s.NumberNames,
		FeatureNames: s.FeatureNames, EdgeFeatureNames: s.EdgeFeatureNames,
		Splits: map[string]seq.SplitInfo{"train": {Rows: rows, Lengths: lengths}}}
}
