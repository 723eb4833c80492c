package lra

import "sftseq/sft"

// textPaper is the published configuration.
var textPaper = &Preset{
	Name:        "paper",
	Description: "the published configuration: 4 layers of 128 on the first 1,024 bytes, 200 epochs",
	Config:      textPaperConfig(),
	Settings: sft.Settings{Epochs: 200, Batch: 64, LearningRate: 1e-3, WeightDecay: 0.01, StepSize: 20, DecayRate: 0.9,
		MaxGradNorm: 1, Warmup: "untuned", LogEvery: 10},
}

func textPaperConfig() sft.Config {
	c := baseConfig()
	c.HiddenSize, c.NumLayers, c.NumHeads, c.IntermediateSize = 128, 4, 4, 512
	c.NumSampledTokens, c.SinusoidDim, c.NormPosition = 256, 128, "post"
	c.DropToken, c.AttentionDropout, c.FeedForward = 0.3, 0.1, 0.2
	c.InputWindow = &sft.InputWindow{Length: 1024, Policy: "head"}
	return c
}

// textQuick is a small model of the same kind.
var textQuick = &Preset{
	Name:        "quick",
	Description: "a small model that trains in half an hour on two cores",
	Config:      textQuickConfig(),
	Settings: sft.Settings{Epochs: 10, Batch: 32, LearningRate: 1e-3, WeightDecay: 0.01, StepSize: 20, DecayRate: 0.9,
		MaxGradNorm: 1, Warmup: "100", LogEvery: 50},
}

func textQuickConfig() sft.Config {
	c := baseConfig()
	c.HiddenSize, c.NumLayers, c.NumHeads, c.IntermediateSize = 64, 2, 4, 128
	c.NumSampledTokens, c.SinusoidDim = 64, 64
	c.AttentionDropout, c.EmbeddingDropout, c.FeedForward = 0.1, 0.1, 0.2
	c.InputWindow = &sft.InputWindow{Length: 1024, Policy: "head"}
	return c
}
