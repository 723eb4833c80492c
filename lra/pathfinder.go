package lra

import (
	"encoding/json"

	"github.com/sftseq/sftseq/seq"
)

// Pathfinder is the task of deciding whether two marks in an image are on the same dashed contour
// (Linsley et al. 2018). A row is the 1,024 gray pixels of the image, row by row.
var Pathfinder = &Task{
	Name:        "pathfinder",
	Description: "Whether two marks are on one dashed contour, in an image of 32×32 pixels.",
	Kind:        seq.Classification,
	Tokenizer:   json.RawMessage(`{"type":"pixel"}`),
	Labels:      []string{"apart", "joined"},
	Presets:     []*Preset{pathfinderQuick, pathfinderHour, pathfinderPaper},
	Import: &Importer{
		Usage: "convert the official folders of images and metadata",
		Description: `Reads the images and labels of one of the official folders, such as
curv_contour_length_14: metadata/*.npy, in the order of their numbers, name them. Files
of zero bytes, which exist in the release, are left out. The first 80% are for training,
the next 10% for validation, the last for testing.`,
		Example: "sftseq data convert pathfinder --from lra_release/pathfinder32/curv_contour_length_14 --to data/pathfinder",
		convert: convertPathfinder,
	},
	Generator: &Generator{
		Usage: "generate Pathfinder by the rule of the Long Range Arena",
		Description: `Draws images of 32×32 pixels with two long dashed contours, short ones that distract,
and two marks, which are at the two ends of one contour (joined) or at ends of both
(apart). The same seed and rule give the same files. Contours of 14 dashes are the split
that is commonly reported; 9 and 6 are the easier ones.`,
		Example: "sftseq data generate pathfinder --out data/pathfinder --train 20000 --val 2000 --test 2000",
		Rule:    func() Rule { rule := LRAPathfinder; return &rule },
	},
}
