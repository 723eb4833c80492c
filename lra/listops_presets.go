package lra

import "sftseq/sft"

// listOpsPaper is the published configuration.
var listOpsPaper = &Preset{
	Name:        "paper",
	Description: "the published configuration: 6 layers of 128, 96,000 expressions, 50 epochs",
	Config:      paperConfig(),
	Settings: sft.Settings{Epochs: 50, Batch: 64, LearningRate: 1e-3, WeightDecay: 0.01, StepSize: 20, DecayRate: 0.9,
		MaxGradNorm: 1, Warmup: "untuned", LogEvery: 10},
	Data:     GenerateOptions{Train: 96000, Val: 2000, Test: 2000, Seed: 1},
	DataName: "listops-lra-1",
}

func paperConfig() sft.Config {
	c := baseConfig()
	c.HiddenSize, c.NumLayers, c.NumHeads, c.IntermediateSize = 128, 6, 4, 512
	c.NumSampledTokens, c.SinusoidDim = 256, 128
	c.EmbeddingDropout, c.FeedForward = 0.1, 0.2
	return c
}

// listOpsQuick begins with the shortest expressions, where a step costs little
// and the operator at the root is soon found, and goes on with all lengths. It
// is validated and tested by the rule of the Long Range Arena.
var listOpsQuick = &Preset{
	Name:        "quick",
	Description: "a small model that trains in minutes on two cores",
	Config:      quickConfig(),
	Settings: sft.Settings{Epochs: 1, Steps: 9000, Batch: 16, LearningRate: 1e-3, WeightDecay: 0.01, StepSize: 20, DecayRate: 0.9,
		MaxGradNorm: 1, Warmup: "100", EvalEvery: 1500, LogEvery: 50,
		Stages: []sft.Stage{{Steps: 1500, Length: 160}, {Steps: 1000, Length: 400}, {Steps: 1000, Length: 1000}}},
	Data: GenerateOptions{Train: 96000, Val: 500, Test: 2000, Seed: 1,
		ListOpsTrain: &ListOpsRule{MinLength: 40, MaxLength: 2000, MaxDepth: 10, MaxArgs: 10}},
	DataName: "listops-quick-1",
}

func quickConfig() sft.Config {
	c := baseConfig()
	c.HiddenSize, c.NumLayers, c.NumHeads, c.IntermediateSize = 32, 2, 4, 64
	c.NumSampledTokens, c.SinusoidDim = 64, 32
	return c
}
