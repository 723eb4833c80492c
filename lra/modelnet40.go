package lra

import (
	"slices"

	"github.com/sftseq/sftseq/seq"
)

// ModelNet40 is the task of classifying a shape (Wu et al. 2015) from points on its surface.
var ModelNet40 = &Task{
	Name:        "modelnet40",
	Description: "The class of a shape (ModelNet40), read as a cloud of 1,024 points with normals.",
	Kind:        seq.Classification,
	Labels:      modelNetClasses,
	Features:    slices.Concat(seq.PositionNames, seq.NormalNames),
	Rows:        []PublishedRows{{[]string{"train", "val"}, 9843}, {[]string{"test"}, 2468}},
	Presets:     cloudPresets(8, 0.5, setMaxPooling),
	Import: &Importer{
		Usage: "convert modelnet40_normal_resampled, a directory",
		Description: `Reads the lists of classes and splits (modelnet40_shape_names.txt, modelnet40_train.txt
and modelnet40_test.txt) and the files of each class, such as airplane/airplane_0001.txt,
with lines x,y,z,nx,ny,nz. Samples the points of each file by farthest point sampling,
centres the cloud and scales it to the unit sphere. About a tenth of the training shapes,
chosen by their names, become the validation split. Leaves out files that cannot be used,
and lists them by reason.`,
		Example: "sftseq data convert modelnet40 --from modelnet40_normal_resampled --to data/modelnet40",
		Points:  1024,
		Unit:    "files",
		convert: convertModelNet,
	},
}

// modelNetClasses lists the classes in the order of modelnet40_shape_names.txt.
var modelNetClasses = []string{
	"airplane", "bathtub", "bed", "bench", "bookshelf", "bottle", "bowl", "car", "chair", "cone",
	"cup", "curtain", "desk", "door", "dresser", "flower_pot", "glass_box", "guitar", "keyboard", "lamp",
	"laptop", "mantel", "monitor", "night_stand", "person", "piano", "plant", "radio", "range_hood", "sink",
	"sofa", "stairs", "stool", "table", "tent", "toilet", "tv_stand", "vase", "wardrobe", "xbox",
}
