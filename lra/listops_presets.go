package lra

import (
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// listOpsPaper is the published configuration.
var listOpsPaper = &Preset{
	Name:        "paper",
	Description: "published: 6 layers of 128, 96,000 expressions, 50 epochs",
	Config:      with(encoder(6, 128, 512, 256), func(c *sft.Config) { c.EmbeddingDropout, c.FeedForward = 0.1, 0.2 }),
	Settings:    published(50, 64, 0.01),
	Data:        GenerateOptions{Train: 96000, Val: 2000, Test: 2000, Seed: 1},
	DataName:    "listops-lra-1",
}

// listOpsWithShort adds shorter expressions to the training split.
var listOpsWithShort = &ListOpsRule{MinLength: 500, MaxLength: 2000, MaxDepth: 10, MaxArgs: 10,
	Train: &ListOpsRule{MinLength: 40, MaxLength: 2000, MaxDepth: 10, MaxArgs: 10}}

// listOpsQuick trains on the shortest expressions first: a step is cheap there, and the model soon
// finds the operator at the root. It continues with all lengths. Its validation and test splits
// follow the rule of the Long Range Arena.
var listOpsQuick = &Preset{
	Name:        "quick",
	Description: "a small model, on short expressions first",
	Config:      listOpsQuickConfig(),
	Settings: with(falling(1, 0.01), func(s *train.Settings) {
		s.Steps, s.EvalEvery = 14000, 3500
		s.Stages = []train.Stage{{Steps: 8000, Length: 160}, {Steps: 3000, Length: 400}, {Steps: 1500, Length: 1000}}
	}),
	// One training expression in ten is short enough for the first stage. With fewer short
	// expressions, the model would overfit.
	Data:     GenerateOptions{Train: 600000, Val: 2000, Test: 2000, Seed: 1, Rule: listOpsWithShort},
	DataName: "listops-quick-2",
	Result:   &Result{43.45, "operator at the root", 35.60, 10},
}

func listOpsQuickConfig() sft.Config {
	c := encoder(4, 64, 128, 32)
	c.Convolutions = []config.Convolution{{KernelSize: 5, Dilation: 1}}
	return c
}

// listOpsHour has more layers, for nested operators. It trains on more expressions, for about the
// same number of epochs.
var listOpsHour = &Preset{
	Name:        "hour",
	Description: "a deeper model, on more expressions",
	Config:      with(listOpsQuickConfig(), func(c *sft.Config) { c.NumLayers = 6 }),
	Settings: with(falling(1, 0.01), func(s *train.Settings) {
		s.Steps, s.EvalEvery = 31500, 3500
		s.Stages = []train.Stage{{Steps: 20000, Length: 160}, {Steps: 6000, Length: 400}, {Steps: 3000, Length: 1000}}
	}),
	Data:     GenerateOptions{Train: 1500000, Val: 2000, Test: 2000, Seed: 1, Rule: listOpsWithShort},
	DataName: "listops-hour-1",
	Result:   &Result{46.50, "operator at the root", 35.60, 29},
}
