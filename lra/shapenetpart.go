package lra

import (
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/seq"
)

// ShapeNetPart is the task of predicting which part of a shape each point belongs to (Yi et al.
// 2016). Each category has its own parts.
var ShapeNetPart = &Task{
	Name:        "shapenetpart",
	Description: "The part of each point of a shape (ShapeNetPart), read as a cloud of 2,500 points with normals.",
	Kind:        seq.Tagging,
	Labels:      shapeNetParts(),
	Features:    slices.Concat(seq.PositionNames, seq.NormalNames),
	Rows:        []PublishedRows{{[]string{"train"}, 12137}, {[]string{"val"}, 1870}, {[]string{"test"}, 2874}},
	Presets:     cloudPresets(3, 0.2, noPooling),
	Import: &Importer{
		Usage: "convert shapenetcore_partanno_segmentation_benchmark_v0_normal, a directory",
		Description: `Reads the lists of splits train_test_split/shuffled_{train,val,test}_file_list.json,
synsetoffset2category.txt, which names the category of each folder, and the files in the
folders, with lines x y z nx ny nz part. Draws points of each file at random, with
replacement, centres the shape and scales it to the unit sphere. Leaves out files that cannot
be used, and lists them by reason.`,
		Example: "sftseq data convert shapenetpart --from shapenetcore_partanno_segmentation_benchmark_v0_normal --to data/shapenetpart",
		Points:  2500,
		Seeded:  true,
		Unit:    "files",
		convert: convertShapeNetPart,
	},
}

// shapeNetCategories lists the categories, each with its number of parts. Parts are numbered
// consecutively over all categories.
var shapeNetCategories = []struct {
	name  string
	parts int
}{
	{"Airplane", 4}, {"Bag", 2}, {"Cap", 2}, {"Car", 4}, {"Chair", 4}, {"Earphone", 3}, {"Guitar", 3}, {"Knife", 2},
	{"Lamp", 4}, {"Laptop", 2}, {"Motorbike", 6}, {"Mug", 2}, {"Pistol", 3}, {"Rocket", 3},
	{"Skateboard", 3}, {"Table", 3},
}

// shapeNetParts returns the tags in the form CATEGORY/PART.
func shapeNetParts() (names []string) {
	for _, c := range shapeNetCategories {
		for range c.parts {
			names = append(names, fmt.Sprintf("%s/%d", c.name, len(names)))
		}
	}
	return names
}
