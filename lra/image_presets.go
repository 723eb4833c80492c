package lra

import "sftseq/sft"

// imagePaper is the published configuration.
var imagePaper = &Preset{
	Name:        "paper",
	Description: "the published configuration: 8 layers of 128, 50 epochs",
	Config:      imagePaperConfig(),
	Settings:    published(50, 64, 0.02),
}

func imagePaperConfig() sft.Config {
	c := encoder(8, 128, 512, 256)
	c.DropToken, c.AttentionDropout, c.EmbeddingDropout, c.FeedForward = 0.3, 0.1, 0.1, 0.2
	return c
}

// imageQuick is a small model of the same kind.
var imageQuick = &Preset{
	Name:        "quick",
	Description: "a small model that trains in half an hour on two cores",
	Config:      encoder(2, 64, 128, 64),
	Settings:    quick(5, 32, 0.02),
}
