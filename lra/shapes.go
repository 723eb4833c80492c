package lra

import (
	"slices"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/train"
)

// Shapes is the task of classifying a solid from points on its surface. Its data are generated and
// replace ModelNet40.
var Shapes = &Task{
	Name:        "shapes",
	Description: "The class of a generated solid, one of nine, rotated at random, read as a cloud of points with normals.",
	Kind:        seq.Classification,
	Labels:      shapeNames(),
	Features:    slices.Concat(seq.PositionNames, seq.NormalNames),
	Presets: shapePresets("shapes-quick-1", ShapesRule{},
		"99.75% of 400 test clouds, the median of three seeds (moments and radii: 92.25%)"),
	Generator: &Generator{
		Usage: "generate point clouds of nine kinds of solids",
		Description: `Draws points, uniform on the surfaces of balls, bolts, boxes, cones, cylinders, dumbbells,
mugs, tables and tori of random sizes, with normals, rotated at random. The columns x, y, z,
nx, ny and nz are the features of a point. The same seed produces the same files.`,
		Example: "sftseq data generate shapes --out data/shapes",
		Rule:    func() Rule { rule := UsualShapes; return &rule },
	},
}

// ShapeParts is the task of predicting which part of the solid each point of a cloud of [Shapes]
// belongs to. Its generated data replace ShapeNetPart.
var ShapeParts = &Task{
	Name:        "shape-parts",
	Description: "The part of each point of a generated solid, rotated at random, read as a cloud of points with normals.",
	Kind:        seq.Tagging,
	Labels:      partNames(),
	Features:    slices.Concat(seq.PositionNames, seq.NormalNames),
	Presets: shapePresets("shape-parts-quick-1", ShapesRule{parts: true},
		"instance IoU 0.905 on 400 test clouds, the median of three seeds (most frequent part: 0.586)"),
	Generator: &Generator{
		Usage: "generate point clouds with the part of each point",
		Description: `Draws the clouds of sftseq data generate shapes. Instead of a class for the cloud, each point
has a tag, the solid and its part, such as mug/handle. The same seed produces the same files.`,
		Example: "sftseq data generate shape-parts --out data/parts",
		Rule:    func() Rule { rule := UsualShapes; rule.parts = true; return &rule },
	},
}

// shapePresets returns the presets of a task of generated solids. The clouds follow the given rule,
// with the points and the noise of UsualShapes. Training rotates the clouds at random, so that a model
// sees each solid from another direction in every epoch.
func shapePresets(dataName string, rule ShapesRule, measured string) []*Preset {
	const rows = 2000
	rule.Points, rule.Noise = UsualShapes.Points, UsualShapes.Noise
	p := tunedPreset(cloudsManifest(rows, int64(UsualShapes.Points)), "quick",
		"a small model, on 2,000 clouds of 256 points that training rotates at random; there is no larger preset",
		func(_ *sft.Config, s *train.Settings) {
			s.Epochs, s.PointRotation = 12, "any"
		})
	p.Data = GenerateOptions{Train: rows, Val: 400, Test: 400, Rule: &rule}
	p.DataName, p.Measured = dataName, measured
	return []*Preset{p}
}

// shapeNames returns the classes in the order of their labels.
func shapeNames() (out []string) {
	for _, s := range shapes {
		out = append(out, s.name)
	}
	return out
}

// partNames returns the tags of points: SHAPE/PART for each part of each shape.
func partNames() (out []string) {
	for _, s := range shapes {
		for _, part := range s.parts {
			out = append(out, s.name+"/"+part)
		}
	}
	return out
}
