package lra

import (
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// cloudPresets returns the presets of a task of point clouds. The published configurations differ
// in the fraction of tokens that sampling drops and in the head. One published configuration is
// rotation invariant: it reads only distances between points. The small model is trained for the
// given number of epochs.
func cloudPresets(epochs int, dropToken float64, head func(*sft.Config)) []*Preset {
	paper := with(featured(8, 256, 256, dropToken, 0.1), head)
	return []*Preset{{
		Name:        "quick",
		Description: "a small model",
		Config:      featuredQuick(3, 64),
		Settings:    scaledPoints(falling(epochs, 0.01)),
	}, {
		Name:        "paper-invariant",
		Description: "published, rotation invariant: 8 layers of 256, 1,000 epochs",
		Config:      invariant(paper),
		Settings:    turnedPoints(scaledPoints(stepped(1000, 1e-3, 0.1, 0.8))),
	}, {
		Name:        "paper",
		Description: "published: 8 layers of 256, 600 epochs",
		Config:      paper,
		Settings:    scaledPoints(stepped(600, 1e-3, 0.1, 0.8)),
	}}
}

// maximum sets the published head of ModelNet40, which takes the maximum of each channel over
// sampled tokens.
func maximum(c *sft.Config) { c.Pooling, c.PoolingSamples = config.MaxPooling, 512 }

// eachPoint is the head of tasks that tag points. It changes nothing, as these tasks have no
// pooling.
func eachPoint(*sft.Config) {}
