package lra

import (
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// cloudPresets returns the presets of a task of point clouds. The published configurations of the
// tasks differ in the fraction of tokens that sampling drops and in the head. "paper-invariant" is
// rotation-invariant: it reads only the distances between points and the dot products of their normals.
// The parameter epochs applies to the small model.
func cloudPresets(epochs int, dropToken float64, head func(*sft.Config)) []*Preset {
	paper := modified(cloudConfig(8, 256, 256, dropToken, 0.1), head)
	return []*Preset{{
		Name:        "quick",
		Description: "a small model",
		Config:      cloudQuickConfig(3, 64),
		Settings:    withPointScale(cosineSettings(epochs, 0.01)),
	}, {
		Name:        "paper-invariant",
		Description: "published, rotation-invariant: 8 layers of 256 channels, 1,000 epochs",
		Config:      rotationInvariant(paper),
		Settings:    withPointRotation(withPointScale(paperCloudSettings(1000, 1e-3, 0.1, 0.8))),
	}, {
		Name:        "paper",
		Description: "published: 8 layers of 256 channels, 600 epochs",
		Config:      paper,
		Settings:    withPointScale(paperCloudSettings(600, 1e-3, 0.1, 0.8)),
	}}
}

// setMaxPooling sets the published head of ModelNet40, which takes the maximum of each channel over
// sampled tokens.
func setMaxPooling(c *sft.Config) { c.Pooling, c.PoolingSamples = config.MaxPooling, 512 }

// noPooling changes nothing: tasks that tag points have no pooling.
func noPooling(*sft.Config) {}
