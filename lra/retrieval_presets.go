package lra

import "github.com/sftseq/sftseq/sft"

// retrievalPaper is the published configuration.
var retrievalPaper = &Preset{
	Name:        "paper",
	Description: "the published configuration: 5 layers of 128 on the first 4,000 bytes, 80 epochs",
	Config:      retrievalPaperConfig(),
	Settings:    published(80, 32, 0.01),
}

func retrievalPaperConfig() sft.Config {
	c := encoder(5, 128, 512, 256)
	c.NormPosition = "post"
	c.EmbeddingDropout, c.FeedForward = 0.1, 0.2
	c.InputWindow = &sft.InputWindow{Length: 4000, Policy: "head"}
	return c
}

// retrievalQuick is a small model of the same kind, on shorter heads.
var retrievalQuick = &Preset{
	Name:        "quick",
	Description: "a small model on the first 1,000 bytes that trains in half an hour on two cores",
	Config:      retrievalQuickConfig(),
	Settings:    retrievalQuickSettings(),
}

func retrievalQuickConfig() sft.Config {
	c := encoder(2, 64, 128, 64)
	c.EmbeddingDropout, c.FeedForward = 0.1, 0.2
	c.InputWindow = &sft.InputWindow{Length: 1000, Policy: "head"}
	return c
}

func retrievalQuickSettings() sft.Settings {
	s := quick(1, 32, 0.01)
	s.Steps, s.EvalEvery = 3000, 500
	return s
}
