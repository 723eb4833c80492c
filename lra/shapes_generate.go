package lra

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/cloud"
	"github.com/sftseq/sftseq/seq"
)

// ShapesName is the name of the data that [GenerateShapes] makes.
const ShapesName = "shapes"

// ShapesOptions say what GenerateShapes makes.
type ShapesOptions struct {
	Train, Val, Test int  // clouds of each split; a split without any is left out
	Points           int  // of a cloud
	Noise            int  // standard deviation of a coordinate, in thousandths of the cloud's radius
	Upright          bool // shapes stand on z, instead of being turned at random
	Parts            bool // each point is labelled with its part, in place of a label of the cloud
	Seed             uint64
	Replace          bool             // a complete data set that is there already
	Progress         func(rows int64) // called with the rows added; may be nil
}

// UsualShapes are the usual clouds.
var UsualShapes = ShapesOptions{Train: 2000, Val: 400, Test: 400, Points: 512, Noise: 10}

// Validate reports options by which nothing can be drawn.
func (o *ShapesOptions) Validate() error {
	if err := cloud.CheckPoints(o.Points); err != nil {
		return err
	}
	if o.Noise < 0 || o.Noise > 1000 {
		return fmt.Errorf("expected a noise of 0 to 1000, found %d", o.Noise)
	}
	return o.rows().check()
}

// rows are those that the options ask for.
func (o *ShapesOptions) rows() *numbered {
	return &numbered{o.Train, o.Val, o.Test, o.Replace, o.Progress, o.cloud}
}

// GenerateShapes writes a data set of point clouds: points, uniform on the surface of a solid
// of one of nine classes, with their normals. Sizes, rotation, points and noise of a row are a
// function of the seed, the split and the row. A cloud is centred and divided by its radius.
// With Parts the same clouds have the part of each point, such as mug/handle.
func GenerateShapes(ctx context.Context, dir string, o ShapesOptions) (*seq.Dataset, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", ShapesName, err)
	}
	spec := shapesSpec()
	provenance := map[string]any{"generator": ShapesName, "seed": o.Seed, "points": o.Points, "noise": o.Noise, "upright": o.Upright}
	if o.Parts {
		spec.Task, spec.LabelNames, provenance["parts"] = seq.Tagging, partNames(), true
	}
	return o.rows().write(ctx, dir, spec, provenance)
}

// shapesSpec is what the files of the data contain, without parts.
func shapesSpec() seq.Spec {
	spec := seq.Spec{Task: seq.Classification, Name: ShapesName, FeatureNames: slices.Concat(seq.PositionNames, seq.NormalNames)}
	for _, s := range shapes {
		spec.LabelNames = append(spec.LabelNames, s.name)
	}
	return spec
}

// cloud draws the cloud of a number.
func (o *ShapesOptions) cloud(number uint64) seq.Example {
	r := &random{seed: o.Seed}
	r.begin(number)
	uniform := func() float64 { return float64(r.uniform()) }
	label := r.below(len(shapes))
	pieces := shapes[label].draw(func(lo, hi float64) float64 { return lo + (hi-lo)*uniform() })
	total := 0.0
	for _, p := range pieces {
		total += p.area
	}
	turn := identity
	if !o.Upright {
		turn = rotation(uniform(), uniform(), uniform())
	}
	e := seq.Example{Label: label}
	if o.Parts {
		e.Label = seq.NoLabel
	}
	first := int32(0) // of the tags of the shape's parts
	for _, s := range shapes[:label] {
		first += int32(len(s.parts))
	}
	points, normals := make([]vec, o.Points), make([]vec, o.Points)
	for i := range points {
		at, left := pieces[len(pieces)-1], uniform()*total
		for _, p := range pieces {
			if left -= p.area; left < 0 {
				at = p
				break
			}
		}
		p, n := at.at(uniform(), uniform())
		points[i], normals[i] = turn.apply(p), turn.apply(n)
		if o.Parts {
			e.Labels = append(e.Labels, first+int32(at.part))
		}
	}
	cloud.Normalize(points)
	for i, p := range points {
		row := make([]float32, 0, 6)
		for c := range 3 {
			gauss := math.Sqrt(-2*math.Log(uniform())) * math.Cos(2*math.Pi*uniform())
			row = append(row, float32(p[c]+gauss*float64(o.Noise)/1000))
		}
		for c := range 3 {
			row = append(row, float32(normals[i][c]))
		}
		e.Features = append(e.Features, row)
	}
	return e
}

// partNames are the tags of points: each part of each shape, by its category.
func partNames() (out []string) {
	for _, s := range shapes {
		for _, part := range s.parts {
			out = append(out, s.name+"/"+part)
		}
	}
	return out
}

// matrix is a rotation.
type matrix [3]vec

var identity = matrix{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}

func (m matrix) apply(v vec) (out vec) {
	for i, row := range m {
		out[i] = row[0]*v[0] + row[1]*v[1] + row[2]*v[2]
	}
	return out
}

// rotation is uniform among all, of three numbers uniform on 0 to 1, by a unit quaternion.
//
// Source: Shoemake, "Uniform Random Rotations", Graphics Gems III, 1992.
func rotation(u, v, w float64) matrix {
	s1, c1 := math.Sincos(2 * math.Pi * v)
	s2, c2 := math.Sincos(2 * math.Pi * w)
	a, b := math.Sqrt(1-u), math.Sqrt(u)
	x, y, z, q := a*s1, a*c1, b*s2, b*c2
	return matrix{
		{1 - 2*(y*y+z*z), 2 * (x*y - z*q), 2 * (x*z + y*q)},
		{2 * (x*y + z*q), 1 - 2*(x*x+z*z), 2 * (y*z - x*q)},
		{2 * (x*z - y*q), 2 * (y*z + x*q), 1 - 2*(x*x+y*y)},
	}
}
