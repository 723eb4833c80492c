package lra

import (
	"encoding/json"

	"github.com/sftseq/sftseq/seq"
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
		Description: `Reads the reviews of train/pos, train/neg, test/pos and test/neg, and the films that
they are of (urls_pos.txt, urls_neg.txt): a directory, or a tar archive, plain or
gzip-compressed. About a tenth of the training reviews are for validation: those of
the films whose address has a SHA-256 that begins below 0.1, as a fraction, so that no
film is in both. Whole reviews are kept; how much of one a model reads is its own.`,
		Example: "sftseq data convert text --from aclImdb_v1.tar.gz --to data/text",
		convert: convertText,
	},
}
