package lra

import (
	"slices"

	"github.com/sftseq/sftseq/internal/cloud"
	"github.com/sftseq/sftseq/seq"
)

// Components asks for the class of an electronic component, read as points of its mesh. The meshes are
// those of Debian's kicad-packages3d, which stand in for ModelNet40's shapes.
var Components = &Task{
	Name:        "components",
	Description: "The class of an electronic component, one of 41, read as a cloud of 512 coloured points of its mesh.",
	Kind:        seq.Classification,
	Labels:      componentClasses,
	Features:    slices.Concat(seq.PositionNames, seq.NormalNames, cloud.ColorNames, []string{cloud.SizeName}, cloud.PeriodNames, []string{cloud.AlignedName, cloud.SpacingName}),
	Presets:     componentsPresets,
	Import: &Importer{
		Usage: "from the meshes of Debian's kicad-packages3d",
		Description: `Reads the folder usr/share/kicad/3dmodels of the package, whose folders are the classes: those
that have at least 40 files in version 6.0.10. Of each mesh points are drawn that are uniform on
its surface, with normals and colours, centred and divided by their radius, whose logarithm is
a feature, too; others are waves of the distance at which the mesh repeats, as pins do
(sftseq data convert cloud --period), whether the normal is along an axis (--aligned), and the
distance to the eighth nearest neighbour (--spacing). A series is the files of a class whose names differ in
numbers alone, such as header_1x02 and header_1x12, and those of series with an identical file.
Of each at most eight files are taken, all in one split, which --seed decides: series of a tenth
of the class's files at most are for validation, and as many for the test, and of each class one
at least. Files that cannot be used are left out and listed by reason.`,
		Example: "sftseq data convert components --from kicad/usr/share/kicad/3dmodels --to data/components --seed 1",
		Points:  512,
		Seeded:  true,
		Unit:    "files",
		convert: convertComponents,
	},
}

// ComponentParts asks for the part of an electronic component that each point of its mesh is on, among
// those of its class. The meshes stand in for ShapeNetPart's shapes.
var ComponentParts = &Task{
	Name:        "component-parts",
	Description: "The part of each point of an electronic component's mesh, one of 350 of 85 classes, read as a cloud of 256 points.",
	Kind:        seq.Tagging,
	Labels:      componentParts(),
	Features:    slices.Concat(seq.PositionNames, seq.NormalNames),
	Presets:     componentPartsPresets,
	Import: &Importer{
		Usage: "from the meshes of Debian's kicad-packages3d, with the names of their materials",
		Description: `Reads the folder usr/share/kicad/3dmodels of the package. Of each mesh points are drawn that are
uniform on its surface, with normals, centred and divided by their radius. The tag of a point is
its folder and the material of its face, without a number at its end: PIN of DEF PIN-01 Material.
Points of materials without a name have no tag. The tags are the 350 that --seed 0 draws of
version 6.0.10; files of which another seed draws a further one are left out. Files of a folder
whose names differ in numbers alone, and those of series with an identical file, are in one split,
which --seed decides: series of a tenth of the folder's files at most are for validation, and as
many for the test, and of three or more series one at least. Files that cannot be used are left
out and listed by reason.`,
		Example: "sftseq data convert component-parts --from kicad/usr/share/kicad/3dmodels --to data/component-parts",
		Points:  256,
		Seeded:  true,
		Unit:    "files",
		convert: convertComponentParts,
	},
}
