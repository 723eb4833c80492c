package lra

import (
	"encoding/json"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// Files is the task of predicting the kind of a file from a sample of its bytes. The kinds depend on
// the files of a machine. The task therefore has no fixed labels and is not in [Tasks].
var Files = &Task{
	Name:        "files",
	Description: "The kind of a file from a sample of its bytes.",
	Kind:        seq.Classification,
	Tokenizer:   json.RawMessage(`{"type":"byte"}`),
	Presets:     []*Preset{filesQuick, filesHour},
	Import:      &Importer{Example: "sftseq data files --to data/files"},
}

// filesQuick reads the bytes of a sample, and the n-grams with the largest mutual information with the
// kind.
var filesQuick = &Preset{
	Name:        "quick",
	Description: "2 layers with 45,000 n-grams, 1 epoch",
	Config:      filesConfig(),
	Settings:    filesSettings(1),
}

var filesHour = &Preset{
	Name:        "hour",
	Description: "2 layers with 45,000 n-grams, 3 epochs",
	Config:      filesConfig(),
	Settings:    filesSettings(3),
	Measured:    "94.91% of 13,264 files of 98 classes (models/files/README.md), 20 min",
}

// filesConfig returns the configuration of a model that takes 2 MB after sftseq export quantized.
func filesConfig() sft.Config {
	c := encoderConfig(2, 32, 128, 16)
	c.SamplerNoise = "always"
	c.Convolutions = []config.Convolution{{KernelSize: 7, Dilation: 1}}
	c.NGrams = &config.NGrams{Units: "bytes", MinN: 3, MaxN: 6, MaxWords: 2, Slots: 1 << 20, MinCount: 1,
		MaxFeatures: 45000, Dropout: 0.25}
	c.EmbeddingDropout, c.FeedForward = 0.05, 0.1
	return c
}

func filesSettings(epochs int) train.Settings {
	s := quickSettings(epochs, 16, 0.01)
	s.LearningRate, s.TemperatureScaling = 2e-3, true
	SetSchedule(&s, "linear")
	s.FinalRate = 0.02
	return s
}
