package lra

import "sftseq/sft"

// retrievalPaper is the published configuration.
var retrievalPaper = &Preset{
	Name:        "paper",
	Description: "the published configuration: 5 layers of 128 on the first 4,000 bytes, 80 epochs",
	Config:      retrievalPaperConfig(),
	Settings: sft.Settings{Epochs: 80, Batch: 32, LearningRate: 1e-3, WeightDecay: 0.01, StepSize: 20, DecayRate: 0.9,
		MaxGradNorm: 1, Warmup: "untuned", LogEvery: 10},
}

func retrievalPaperConfig() sft.Config {
	c := baseConfig()
	c.HiddenSize, c.NumLayers, c.NumHeads, c.IntermediateSize = 128, 5, 4, 512
	c.NumSampledTokens, c.SinusoidDim, c.NormPosition = 256, 128, "post"
	c.EmbeddingDropout, c.FeedForward = 0.1, 0.2
	c.InputWindow = &sft.InputWindow{Length: 4000, Policy: "head"}
	return c
}

// retrievalQuick is a small model of the same kind, on shorter heads.
var retrievalQuick = &Preset{
	Name:        "quick",
	Description: "a small model on the first 1,000 bytes that trains in half an hour on two cores",
	Config:      retrievalQuickConfig(),
	Settings: sft.Settings{Epochs: 1, Steps: 3000, Batch: 32, LearningRate: 1e-3, WeightDecay: 0.01, StepSize: 20, DecayRate: 0.9,
		MaxGradNorm: 1, Warmup: "100", EvalEvery: 500, LogEvery: 50},
}

func retrievalQuickConfig() sft.Config {
	c := baseConfig()
	c.HiddenSize, c.NumLayers, c.NumHeads, c.IntermediateSize = 64, 2, 4, 128
	c.NumSampledTokens, c.SinusoidDim = 64, 64
	c.EmbeddingDropout, c.FeedForward = 0.1, 0.2
	c.InputWindow = &sft.InputWindow{Length: 1000, Policy: "head"}
	return c
}
