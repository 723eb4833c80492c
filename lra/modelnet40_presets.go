package lra

import "github.com/sftseq/sftseq/sft"

// modelNetPaper is the published configuration.
var modelNetPaper = &Preset{
	Name:        "paper",
	Description: "the published configuration: 8 layers of 256, 600 epochs",
	Config:      with(featured(8, 256, 256, 0.5, 0.1), maximum),
	Settings:    scaledPoints(stepped(600, 1e-3, 0.1, 0.8)),
}

// modelNetPaperInvariant is the published configuration that knows points by their distances alone.
var modelNetPaperInvariant = &Preset{
	Name:        "paper-invariant",
	Description: "the published configuration that no rotation changes: 8 layers of 256, 1,000 epochs",
	Config:      invariant(modelNetPaper.Config),
	Settings:    turnedPoints(scaledPoints(stepped(1000, 1e-3, 0.1, 0.8))),
}

// modelNetQuick is a small model of the same kind.
var modelNetQuick = &Preset{
	Name:        "quick",
	Description: "a small model",
	Config:      featuredQuick(3, 64),
	Settings:    scaledPoints(falling(8, 0.01)),
}

// maximum is the published head of ModelNet40: the maximum of each channel over a sample.
func maximum(c *sft.Config) { c.Pooling, c.PoolingSamples = sft.MaxPooling, 512 }
