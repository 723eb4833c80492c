package lra

import (
	"context"
	"fmt"
	"math"

	"github.com/sftseq/sftseq/internal/cloud"
	"github.com/sftseq/sftseq/seq"
)

// ShapesRule determines which clouds are drawn. A cloud has uniform points on the surface of a
// solid of one of nine classes, with their normals. It is centred and divided by its radius. A row is
// a function of the rule, the seed, the split and the row's index.
type ShapesRule struct {
	Points  int  // points per cloud
	Noise   int  // standard deviation of the coordinates, in thousandths of the cloud's radius
	Upright bool // true for shapes that stand upright along z, false for random rotations

	parts bool // true for a tag per point instead of a label per cloud
}

// UsualShapes is the rule for the clouds of the tasks [Shapes] and [ShapeParts].
var UsualShapes = ShapesRule{Points: 256, Noise: 10}

// Options returns an option for each exported field of the rule.
func (r *ShapesRule) Options() []Option {
	return []Option{
		{Name: "points", Usage: "draw clouds of `N` points", Value: &r.Points},
		{Name: "noise", Usage: "add Gaussian noise to the points, with a standard deviation of `N` thousandths of the radius", Value: &r.Noise},
		{Name: "upright", Usage: "leave the solids upright, without rotation", On: &r.Upright},
	}
}

// Validate returns an error unless the number of points and the noise are in their ranges.
func (r *ShapesRule) Validate() error {
	if err := cloud.CheckPoints(r.Points); err != nil {
		return err
	}
	if r.Noise < 0 || r.Noise > 1000 {
		return fmt.Errorf("expected a noise of 0 to 1000, found %d", r.Noise)
	}
	return nil
}

// draw returns two sequences: the training clouds, and the validation clouds followed by the test
// clouds. The parameter val is the number of validation clouds. No cloud is in two splits.
func (r *ShapesRule) draw(ctx context.Context, seed uint64, _, val int) (training, others rows) {
	split := func(n uint64) rows {
		return numberedRows(ctx, n, func(number uint64) seq.Example { return r.cloud(seed, number) })
	}
	return split(0), func(yield func(seq.Example, error) bool) {
		for _, part := range []rows{firstOf(val, split(1)), split(2)} {
			for e, err := range part {
				if !yield(e, err) {
					return
				}
			}
		}
	}
}

func (r *ShapesRule) provenance() map[string]any {
	return map[string]any{"points": r.Points, "noise": r.Noise, "upright": r.Upright}
}

// cloud returns the cloud with the given number.
func (r *ShapesRule) cloud(seed, number uint64) seq.Example {
	rng := &random{seed: seed}
	rng.begin(number)
	uniform := func() float64 { return float64(rng.uniform()) }
	label := rng.below(len(shapes))
	surfaces := shapes[label].draw(func(lo, hi float64) float64 { return lo + (hi-lo)*uniform() })
	total := 0.0
	for _, p := range surfaces {
		total += p.area
	}
	turn := identity
	if !r.Upright {
		turn = rotation(uniform(), uniform(), uniform())
	}
	e := seq.Example{Label: label}
	if r.parts {
		e.Label = seq.NoLabel
	}
	firstTag := int32(0) // first tag of the shape's parts
	for _, s := range shapes[:label] {
		firstTag += int32(len(s.parts))
	}
	points, normals := make([]vec, r.Points), make([]vec, r.Points)
	for i := range points {
		surface, remaining := surfaces[len(surfaces)-1], uniform()*total
		for _, p := range surfaces {
			if remaining -= p.area; remaining < 0 {
				surface = p
				break
			}
		}
		p, n := surface.pointAt(uniform(), uniform())
		points[i], normals[i] = turn.apply(p), turn.apply(n)
		if r.parts {
			e.Labels = append(e.Labels, firstTag+int32(surface.part))
		}
	}
	cloud.Normalize(points)
	for i, p := range points {
		row := make([]float32, 0, 6)
		for c := range 3 {
			gauss := math.Sqrt(-2*math.Log(uniform())) * math.Cos(2*math.Pi*uniform())
			row = append(row, float32(p[c]+gauss*float64(r.Noise)/1000))
		}
		for c := range 3 {
			row = append(row, float32(normals[i][c]))
		}
		e.Features = append(e.Features, row)
	}
	return e
}

// matrix is a rotation matrix.
type matrix [3]vec

var identity = matrix{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}

// apply returns the rotated vector.
func (m matrix) apply(v vec) (out vec) {
	for i, row := range m {
		out[i] = row[0]*v[0] + row[1]*v[1] + row[2]*v[2]
	}
	return out
}

// rotation returns a random rotation, from a unit quaternion. It is uniform if the three numbers
// are uniform in [0, 1).
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
