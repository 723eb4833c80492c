package lra

import (
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// imagePaper is the published configuration.
var imagePaper = &Preset{
	Name:        "paper",
	Description: "published: 8 layers of 128, 50 epochs",
	Config: with(encoder(8, 128, 512, 256), func(c *sft.Config) {
		c.DropToken, c.AttentionDropout, c.EmbeddingDropout, c.FeedForward = 0.3, 0.1, 0.1, 0.2
	}),
	Settings: published(50, 64, 0.02),
}

// imageQuick is a small version of the published model. Its layers also read the pixels around each
// pixel; the pixel below is 32 tokens ahead.
var imageQuick = &Preset{
	Name:        "quick",
	Description: "a small model",
	Config:      imageQuickConfig(),
	Settings:    imageSettings(2),
	Result:      &Result{55.49, "nearest class mean", 24.22, 15},
}

// imageHour is the model of imageQuick, trained for longer.
var imageHour = &Preset{
	Name:        "hour",
	Description: "the same model, trained for longer",
	Config:      imageQuickConfig(),
	Settings:    imageSettings(5),
	Result:      &Result{64.56, "nearest class mean", 24.22, 38},
}

func imageQuickConfig() sft.Config {
	c := encoder(4, 64, 128, 16)
	c.Convolutions = []config.Convolution{{KernelSize: 5, Dilation: 1}, {KernelSize: 5, Dilation: 32}}
	c.FeedForward = 0.1
	return c
}

func imageSettings(epochs int) train.Settings {
	s := falling(epochs, 0.02)
	s.LearningRate, s.EmbeddingInit = 3e-3, config.FourierInit
	return s
}
