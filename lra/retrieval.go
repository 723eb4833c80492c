package lra

import (
	"encoding/json"

	"github.com/sftseq/sftseq/seq"
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
ids and two texts, separated by tabs. Or files of ids, NAME.train.only_ids.tsv,
.eval and .test, of documents that --docs names: a file of lines with an id, a tab and
a text (docs.tsv beside the pairs unless it is given), or a directory or tar archive
where the id is the path of a file without .txt. All may be compressed by gzip. A data
set of other pairs than the official ones is called NAME. A single file becomes one
split, the test split unless --split says otherwise. Whole texts are kept; how much of
one a model reads is its own.`,
		Example:   "sftseq data convert retrieval --from lra_release/tsv_data --to data/retrieval",
		Documents: true,
		convert:   convertRetrieval,
	},
}
