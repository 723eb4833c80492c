package lra

import (
	"encoding/json"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// Retrieval is the task of deciding whether one of two papers of the ACL Anthology Network cites
// the other. A shared encoder reads both papers byte by byte.
var Retrieval = &Task{
	Name:        "retrieval",
	Description: "Whether one paper cites the other (ACL Anthology Network), read byte by byte.",
	Kind:        seq.Retrieval,
	Tokenizer:   json.RawMessage(`{"type":"byte"}`),
	Labels:      []string{"unrelated", "related"},
	Presets:     []*Preset{retrievalQuick, retrievalPaper},
	Import: &Importer{
		Usage: "convert new_aan_pairs.*.tsv, or pairs of ids and their documents",
		Description: `Reads the official files new_aan_pairs.train.tsv, .eval.tsv and .test.tsv: label, two
ids and two texts, separated by tabs. Also reads NAME.train.only_ids.tsv, .eval and
.test, which have ids without texts; the data set then has the name NAME. --docs names
the texts: a file of lines with an id, a tab and a text (default: docs.tsv beside the
pairs), or a directory or tar archive where an id is the path of a file without .txt.
All files may be compressed. A single file becomes one split, the test split unless
--split names another. Texts are stored whole; the model decides how much of them it
reads.`,
		Example:   "sftseq data convert retrieval --from lra_release/tsv_data --to data/retrieval",
		Documents: true,
		convert:   convertRetrieval,
	},
}

// retrievalPaper is the published configuration.
var retrievalPaper = &Preset{
	Name:        "paper",
	Description: "published: 5 layers of 128 channels on the first 4,000 bytes, 80 epochs",
	Config: modified(encoderConfig(5, 128, 512, 256), func(c *sft.Config) {
		c.NormPosition = "post"
		c.EmbeddingDropout, c.FeedForward = 0.1, 0.2
		c.InputWindow = &config.InputWindow{Length: 4000, Policy: "head"}
	}),
	Settings: paperSettings(80, 32, 0.01),
}

// retrievalQuick trains a linear model, which compares the words of the two texts. It was measured on
// pairs of film reviews (docs/results.md). On these pairs, a small version of the published model, with
// the configuration below, stays at chance: no film of the test split is in training, and single bytes
// do not show which words are shared.
var retrievalQuick = &Preset{
	Name:        "quick",
	Description: "a linear model that compares words, measured on film pairs",
	Linear:      true,
	Config: modified(encoderConfig(2, 64, 128, 64), func(c *sft.Config) {
		c.EmbeddingDropout, c.FeedForward = 0.1, 0.2
		c.InputWindow = &config.InputWindow{Length: 1000, Policy: "head"}
	}),
	Settings: modified(quickSettings(1, 32, 0.01), func(s *train.Settings) { s.Steps, s.EvalEvery = 3000, 500 }),
	Result:   &Result{87.21, "cosine of words", 84.19, 1},
}
