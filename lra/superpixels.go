package lra

import (
	"github.com/sftseq/sftseq/internal/superpixel"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// Superpixels asks for the class of a photograph of CIFAR-10, read as the graph of its superpixels. They
// stand in for those of PascalVOC-SP.
var Superpixels = &Task{
	Name:         "superpixels",
	Description:  "The class of a gray image (CIFAR-10), read as the graph of its superpixels.",
	Kind:         seq.Classification,
	Labels:       imageClasses,
	Features:     superpixel.PieceFeatureNames,
	EdgeFeatures: superpixel.BorderFeatureNames,
	Presets: []*Preset{
		superpixelsPreset("quick", "a small model, trained for 5 epochs", 5, "with --pieces 40 --rows 10000: 32.79% of 10,000 test images (sums and moments: 29.37%)"),
		superpixelsPreset("hour", "the same model, trained for 24 epochs", 24, "with --pieces 40 --rows 10000: 41.60% of 10,000 test images (sums and moments: 29.37%), some 10 minutes of a busy core with AVX-512"),
	},
	Import: &Importer{
		Walks:   true,
		Example: "sftseq data convert superpixels --from data/image --to data/superpixels",
	},
}

// superpixelsPreset is what train custom chooses for 10,000 images in 40 superpixels each, for some epochs.
func superpixelsPreset(name, description string, epochs int, measured string) *Preset {
	data := described(seq.Spec{Task: seq.Classification, FeatureNames: superpixel.PieceFeatureNames, EdgeFeatureNames: superpixel.BorderFeatureNames}, 10000, seq.Quantiles{P50: 37, P95: 41, Mean: 37.1})
	p := chosen(data, name, description, func(_ *sft.Config, s *sft.Settings) { s.Epochs = epochs })
	p.Measured = measured
	return p
}
