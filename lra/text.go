package lra

import (
	"encoding/json"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// Text is the task of deciding whether a film review (IMDb, Maas et al. 2011) is positive. A row is
// the bytes of the review.
var Text = &Task{
	Name:        "text",
	Description: "Whether a film review (IMDb) is positive, read byte by byte.",
	Kind:        seq.Classification,
	Tokenizer:   json.RawMessage(`{"type":"byte"}`),
	Labels:      []string{"negative", "positive"},
	Presets:     []*Preset{textQuick, textHour, textPaper},
	Import: &Importer{
		Usage: "convert aclImdb, a directory or tar archive",
		Description: `Reads the reviews in train/pos, train/neg, test/pos and test/neg, and the URLs of
their films (urls_pos.txt, urls_neg.txt), from a directory or a tar archive, plain or
compressed. About a tenth of the training reviews become the validation split,
chosen by the SHA-256 of the film's URL, so that no film is in both splits.
Reviews are stored whole; the model decides how much of them it reads.`,
		Example: "sftseq data convert text --from aclImdb_v1.tar.gz --to data/text",
		convert: convertText,
	},
}

// textPaper is the published configuration.
var textPaper = &Preset{
	Name:        "paper",
	Description: "published: 4 layers of 128 channels on the first 1,024 bytes, 200 epochs",
	Config: modified(encoderConfig(4, 128, 512, 256), func(c *sft.Config) {
		c.NormPosition = "post"
		c.DropToken, c.AttentionDropout, c.FeedForward = 0.3, 0.1, 0.2
		c.InputWindow = &config.InputWindow{Length: 1024, Policy: "head"}
	}),
	Settings: paperSettings(200, 64, 0.01),
}

// textQuick is a small version of the published model.
var textQuick = &Preset{
	Name:        "quick",
	Description: "a small model on the first 1,024 bytes",
	Config:      textQuickConfig(),
	Settings:    cosineSettings(6, 0.01),
	Result:      &Result{81.53, "word n-grams", 91.82, 17},
}

func textQuickConfig() sft.Config {
	c := encoderConfig(3, 64, 128, 32)
	c.Convolutions = []config.Convolution{{KernelSize: 7, Dilation: 1}}
	c.AttentionDropout, c.EmbeddingDropout, c.FeedForward = 0.1, 0.1, 0.2
	c.InputWindow = &config.InputWindow{Length: 1024, Policy: "head"}
	return c
}

// textHour reads the first 2,048 bytes of a review. Its convolutions cover the neighbouring words.
var textHour = &Preset{
	Name:        "hour",
	Description: "4 layers on the first 2,048 bytes",
	Config: modified(textQuickConfig(), func(c *sft.Config) {
		c.NumLayers, c.InputWindow = 4, &config.InputWindow{Length: 2048, Policy: "head"}
		c.Convolutions = append(c.Convolutions, config.Convolution{KernelSize: 7, Dilation: 6})
	}),
	Settings: cosineSettings(6, 0.01),
	Result:   &Result{83.19, "word n-grams", 91.82, 34},
}
