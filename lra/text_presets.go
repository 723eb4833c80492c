package lra

import (
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// textPaper is the published configuration.
var textPaper = &Preset{
	Name:        "paper",
	Description: "published: 4 layers of 128 on the first 1,024 bytes, 200 epochs",
	Config: with(encoder(4, 128, 512, 256), func(c *sft.Config) {
		c.NormPosition = "post"
		c.DropToken, c.AttentionDropout, c.FeedForward = 0.3, 0.1, 0.2
		c.InputWindow = &config.InputWindow{Length: 1024, Policy: "head"}
	}),
	Settings: published(200, 64, 0.01),
}

// textQuick is a small version of the published model.
var textQuick = &Preset{
	Name:        "quick",
	Description: "a small model on the first 1,024 bytes",
	Config:      textQuickConfig(),
	Settings:    falling(6, 0.01),
	Result:      &Result{81.53, "word n-grams", 91.82, 17},
}

func textQuickConfig() sft.Config {
	c := encoder(3, 64, 128, 32)
	c.Convolutions = []config.Convolution{{KernelSize: 7, Dilation: 1}}
	c.AttentionDropout, c.EmbeddingDropout, c.FeedForward = 0.1, 0.1, 0.2
	c.InputWindow = &config.InputWindow{Length: 1024, Policy: "head"}
	return c
}

// textHour reads twice the number of bytes of a review, and convolutions read the words around each
// byte.
var textHour = &Preset{
	Name:        "hour",
	Description: "4 layers on the first 2,048 bytes",
	Config: with(textQuickConfig(), func(c *sft.Config) {
		c.NumLayers, c.InputWindow = 4, &config.InputWindow{Length: 2048, Policy: "head"}
		c.Convolutions = append(c.Convolutions, config.Convolution{KernelSize: 7, Dilation: 6})
	}),
	Settings: falling(6, 0.01),
	Result:   &Result{83.19, "word n-grams", 91.82, 34},
}
