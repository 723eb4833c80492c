package lra

import "sftseq/sft"

// pathfinderPaper is the published configuration.
var pathfinderPaper = &Preset{
	Name:        "paper",
	Description: "the published configuration: 6 layers of 128, 200 epochs",
	Config:      pathfinderPaperConfig(),
	Settings:    published(200, 64, 0.01),
	Data:        GenerateOptions{Train: 160000, Val: 20000, Test: 20000, Seed: 1},
	DataName:    "pathfinder-2",
}

func pathfinderPaperConfig() sft.Config {
	c := encoder(6, 128, 512, 256)
	c.EmbeddingDropout, c.FeedForward = 0.1, 0.2
	return c
}

// pathfinderQuick is a small model of the same kind.
var pathfinderQuick = &Preset{
	Name:        "quick",
	Description: "a small model that trains in half an hour on two cores",
	Config:      encoder(2, 64, 128, 64),
	Settings:    quick(5, 32, 0.01),
	Data:        GenerateOptions{Train: 40000, Val: 2000, Test: 5000, Seed: 1},
	DataName:    "pathfinder-quick-2",
}
