package lra

import "sftseq/sft"

// pathfinderPaper is the published configuration.
var pathfinderPaper = &Preset{
	Name:        "paper",
	Description: "the published configuration: 6 layers of 128, 200 epochs",
	Config:      pathfinderPaperConfig(),
	Settings: sft.Settings{Epochs: 200, Batch: 64, LearningRate: 1e-3, WeightDecay: 0.01, StepSize: 20, DecayRate: 0.9,
		MaxGradNorm: 1, Warmup: "untuned", LogEvery: 10},
	Data:     GenerateOptions{Train: 160000, Val: 20000, Test: 20000, Seed: 1},
	DataName: "pathfinder-1",
}

func pathfinderPaperConfig() sft.Config {
	c := baseConfig()
	c.HiddenSize, c.NumLayers, c.NumHeads, c.IntermediateSize = 128, 6, 4, 512
	c.NumSampledTokens, c.SinusoidDim = 256, 128
	c.EmbeddingDropout, c.FeedForward = 0.1, 0.2
	return c
}

// pathfinderQuick is a small model of the same kind.
var pathfinderQuick = &Preset{
	Name:        "quick",
	Description: "a small model that trains in half an hour on two cores",
	Config:      pathfinderQuickConfig(),
	Settings: sft.Settings{Epochs: 5, Batch: 32, LearningRate: 1e-3, WeightDecay: 0.01, StepSize: 20, DecayRate: 0.9,
		MaxGradNorm: 1, Warmup: "100", LogEvery: 50},
	Data:     GenerateOptions{Train: 40000, Val: 2000, Test: 5000, Seed: 1},
	DataName: "pathfinder-quick-1",
}

func pathfinderQuickConfig() sft.Config {
	c := baseConfig()
	c.HiddenSize, c.NumLayers, c.NumHeads, c.IntermediateSize = 64, 2, 4, 128
	c.NumSampledTokens, c.SinusoidDim = 64, 64
	return c
}
