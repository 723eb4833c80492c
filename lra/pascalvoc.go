package lra

import (
	"github.com/sftseq/sftseq/seq"
)

// PascalVOC is the task of classifying each superpixel of a photograph (Dwivedi et al. 2022) in
// the graph of its superpixels.
var PascalVOC = &Task{
	Name:         "pascalvoc-sp",
	Description:  "What each region of a photograph shows (PascalVOC-SP), predicted from the graph of its superpixels.",
	Kind:         seq.Tagging,
	Labels:       vocClasses,
	Features:     vocFeatures,
	EdgeFeatures: []string{"mean_gradient", "border_pixels"},
	Rows:         []PublishedRows{{[]string{"train"}, 8498}, {[]string{"val"}, 1428}, {[]string{"test"}, 1429}},
	Presets:      []*Preset{vocQuick, vocPaper},
	Import: &Importer{
		Usage: "convert PyTorch Geometric's PascalVOC-SP, written as JSON lines",
		Description: `Reads train.jsonl, val.jsonl and test.jsonl of a directory, or a single file, plain or
compressed. Each line is a graph in the format of docs/published-clouds-graphs.md, with 14
numbers for each superpixel and 2 for each border. The field tags lists the class of each
superpixel, by number or name. --random-walk 24 adds the return probabilities of a
random walk of 1 to 24 steps (RWPE).`,
		Example: "sftseq data convert pascalvoc-sp --from pascalvoc-sp --to data/pascalvoc-sp",
		Walks:   true,
		convert: convertVOC,
	},
}

// vocClasses lists the classes in the order of their labels.
var vocClasses = []string{
	"background", "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow",
	"diningtable", "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor",
}

// vocFeatures are the names of a superpixel's features: its colours and its position.
var vocFeatures = []string{
	"red_mean", "green_mean", "blue_mean", "red_deviation", "green_deviation", "blue_deviation",
	"red_max", "green_max", "blue_max", "red_min", "green_min", "blue_min", "centre_0", "centre_1",
}

// vocPaper is the published configuration.
var vocPaper = &Preset{
	Name:        "paper",
	Description: "published: 4 layers of 160 channels, 600 epochs",
	Config:      cloudConfig(4, 160, 150, 0.3, 0),
	Settings:    paperCloudSettings(600, 1e-3, 0.1, 0.9),
}

// vocQuick is a small version of the published model.
var vocQuick = &Preset{
	Name:        "quick",
	Description: "a small model",
	Config:      cloudQuickConfig(2, 64),
	Settings:    cosineSettings(10, 0.01),
}
