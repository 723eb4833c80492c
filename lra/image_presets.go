package lra

import "github.com/sftseq/sftseq/sft"

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

// imageQuick is a small model of the same kind, whose layers also read the pixels around
// each one: 32 tokens on is the row below.
var imageQuick = &Preset{
	Name:        "quick",
	Description: "a small model that trains in minutes on two cores",
	Config:      imageQuickConfig(),
	Settings:    imageSettings(2),
}

// imageHour is the same model for longer.
var imageHour = &Preset{
	Name:        "hour",
	Description: "the same model, trained within an hour on two cores",
	Config:      imageQuickConfig(),
	Settings:    imageSettings(5),
}

func imageQuickConfig() sft.Config {
	c := encoder(4, 64, 128, 16)
	c.Convolutions = []sft.Convolution{{KernelSize: 5, Dilation: 1}, {KernelSize: 5, Dilation: 32}}
	c.FeedForward = 0.1
	return c
}

func imageSettings(epochs int) sft.Settings {
	s := falling(epochs, 0.02)
	s.LearningRate, s.EmbeddingInit = 3e-3, sft.FourierInit
	return s
}
