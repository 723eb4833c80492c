package lra

import (
	"fmt"
	"strings"

	"sftseq/sft"
)

// A Preset is a way to train on a task: a model, the settings of a run and the
// data it is meant for.
type Preset struct {
	Name        string
	Description string
	// Config is the model, beside what the data decides: vocabulary, labels and
	// tokenizer.
	Config   sft.Config
	Settings sft.Settings
	// Data generates the data set; its DataName changes with its contents.
	Data     GenerateOptions
	DataName string
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
	return nil, fmt.Errorf("task %s: preset %q is not known; known presets: %s", t.Name, name, strings.Join(names, ", "))
}

// baseConfig holds what the presets share: the paper's model.
func baseConfig() sft.Config {
	return sft.Config{
		ModelType: "sft", Task: sft.Classification, MaxLength: 1 << 20, SinusoidBase: 10000, LayerNormEps: 1e-5, NormPosition: "pre",
		Score: "maxout", Probability: "leaky_relu", Relative: "sinusoid_hadamard", SamplerSeed: 20240812, SamplerNoise: "train",
	}
}
