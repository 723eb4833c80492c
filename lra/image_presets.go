package lra

import "sftseq/sft"

// imagePaper is the published configuration.
var imagePaper = &Preset{
	Name:        "paper",
	Description: "the published configuration: 8 layers of 128, 50 epochs",
	Config:      imagePaperConfig(),
	Settings: sft.Settings{Epochs: 50, Batch: 64, LearningRate: 1e-3, WeightDecay: 0.02, StepSize: 20, DecayRate: 0.9,
		MaxGradNorm: 1, Warmup: "untuned", LogEvery: 10},
}

func imagePaperConfig() sft.Config {
	c := baseConfig()
	c.HiddenSize, c.NumLayers, c.NumHeads, c.IntermediateSize = 128, 8, 4, 512
	c.NumSampledTokens, c.SinusoidDim = 256, 128
	c.DropToken, c.AttentionDropout, c.EmbeddingDropout, c.FeedForward = 0.3, 0.1, 0.1, 0.2
	return c
}

// imageQuick is a small model of the same kind.
var imageQuick = &Preset{
	Name:        "quick",
	Description: "a small model that trains in half an hour on two cores",
	Config:      imageQuickConfig(),
	Settings: sft.Settings{Epochs: 5, Batch: 32, LearningRate: 1e-3, WeightDecay: 0.02, StepSize: 20, DecayRate: 0.9,
		MaxGradNorm: 1, Warmup: "100", LogEvery: 50},
}

func imageQuickConfig() sft.Config {
	c := baseConfig()
	c.HiddenSize, c.NumLayers, c.NumHeads, c.IntermediateSize = 64, 2, 4, 128
	c.NumSampledTokens, c.SinusoidDim = 64, 64
	return c
}
