package lra

import (
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// retrievalPaper is the published configuration.
var retrievalPaper = &Preset{
	Name:        "paper",
	Description: "published: 5 layers of 128 on the first 4,000 bytes, 80 epochs",
	Config: with(encoder(5, 128, 512, 256), func(c *sft.Config) {
		c.NormPosition = "post"
		c.EmbeddingDropout, c.FeedForward = 0.1, 0.2
		c.InputWindow = &config.InputWindow{Length: 4000, Policy: "head"}
	}),
	Settings: published(80, 32, 0.01),
}

// retrievalQuick is a small version of the published model, which reads fewer bytes of each paper.
var retrievalQuick = &Preset{
	Name:        "quick",
	Description: "a small model on the first 1,000 bytes, measured on film pairs",
	Config: with(encoder(2, 64, 128, 64), func(c *sft.Config) {
		c.EmbeddingDropout, c.FeedForward = 0.1, 0.2
		c.InputWindow = &config.InputWindow{Length: 1000, Policy: "head"}
	}),
	Settings: with(quick(1, 32, 0.01), func(s *train.Settings) { s.Steps, s.EvalEvery = 3000, 500 }),
	Result:   &Result{50.36, "cosine of words", 84.19, 19},
}
