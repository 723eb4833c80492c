package train

import (
	"errors"
	"math"

	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// Rotations are the rotations by which training may turn a point cloud: none, about z by any
// angle, or any of all.
var Rotations = []string{"none", "z", "any"}

// augments reports whether training reads point clouds otherwise than they are.
func (s *Settings) augments() bool {
	turned := s.PointRotation != "" && s.PointRotation != Rotations[0]
	return len(s.PointScale) > 0 || len(s.PointStretch) > 0 || turned || s.PointShift > 0
}

// checkPoints reports why the clouds of a model cannot be augmented.
func (s *Settings) checkPoints(c *config.Config) error {
	if s.augments() && seq.Points(c.FeatureNames) == nil {
		return errors.New("the tokens have no features x, y and z: point_scale, point_stretch, point_rotation and point_shift are of points")
	}
	return nil
}

// augmented is a point cloud as training reads it: x becomes s·R·D·x + t, with s uniform within
// PointScale, R uniform among the rotations of PointRotation, D diagonal with numbers uniform
// within PointStretch, and each coordinate of t uniform from −PointShift to PointShift. A normal n
// becomes R·D⁻¹·n, and keeps its length. All four are functions of (seed, row, step) alone. Other
// features, edges and targets stay. The argument is not changed.
func (s *Settings) augmented(c *config.Config, e seq.Example, step int) [][]float32 {
	draw := func(n uint32) [4]float64 {
		var out [4]float64
		for i, w := range philox.Words(s.Seed, philox.Counter(n, 0, 0, philox.StreamNoise, e.Index, uint32(step))) {
			out[i] = float64(philox.Uniform(w))
		}
		return out
	}
	first := draw(0)
	scale, shift := 1.0, [3]float64{}
	if len(s.PointScale) > 0 {
		scale = s.PointScale[0] + float64((s.PointScale[1]-s.PointScale[0])*first[0])
	}
	for i := range shift {
		shift[i] = float64(s.PointShift * (float64(2*first[1+i]) - 1))
	}
	turn, stretch := s.rotation(draw), s.stretch(draw)
	at := seq.Points(c.FeatureNames)
	width := len(c.FeatureNames)
	values, out := make([]float32, len(e.Features)*width), make([][]float32, len(e.Features))
	for i, row := range e.Features {
		out[i] = values[i*width : (i+1)*width : (i+1)*width]
		copy(out[i], row)
		stretch.points(out[i], at[:3])
		turn.apply(out[i], at[:3], scale, shift)
		if normals := at[3:]; len(normals) > 0 {
			stretch.normals(out[i], normals)
			turn.apply(out[i], normals, 1, [3]float64{})
		}
	}
	return out
}

// stretch draws the factor of each axis, from a draw that no rotation comes to; nil is 1.
func (s *Settings) stretch(draw func(uint32) [4]float64) stretch {
	if len(s.PointStretch) == 0 {
		return nil
	}
	factors := draw(math.MaxUint32)
	for i, u := range factors {
		factors[i] = s.PointStretch[0] + float64((s.PointStretch[1]-s.PointStretch[0])*u)
	}
	return factors[:3]
}

// stretch is a factor for each axis.
type stretch []float64

func (s stretch) points(row []float32, at []int) {
	for i, f := range s {
		row[at[i]] = float32(float64(row[at[i]]) * f)
	}
}

// normals turns a normal as the surface turns, and keeps its length.
func (s stretch) normals(row []float32, at []int) {
	if s == nil {
		return
	}
	var before, after float64
	for i, f := range s {
		n := float64(row[at[i]])
		before, after = before+float64(n*n), after+float64(n/f*(n/f))
	}
	if !(after > 0) {
		return
	}
	length := math.Sqrt(before / after)
	for i, f := range s {
		row[at[i]] = float32(float64(row[at[i]]) / f * length)
	}
}

// rotation draws one of PointRotation, from the second draw on.
func (s *Settings) rotation(draw func(uint32) [4]float64) rotation {
	switch s.PointRotation {
	case "z":
		a, _ := onDisc(draw, 1, 0)
		r := math.Sqrt(squared(a))
		sin, cos := a[1]/r, a[0]/r
		return rotation{{cos, -sin, 0}, {sin, cos, 0}, {0, 0, 1}}
	case "any":
		a, n := onDisc(draw, 1, 0)
		b, _ := onDisc(draw, n, 2)
		return ofQuaternion(a, b)
	}
	return rotation{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
}

// onDisc is a point of the unit disc, uniform: of the words from that one on of draw n or a later
// one, which are points of a square, the first that is on the disc. It takes no sine, whose last
// bits differ between CPUs. Next is the draw behind.
func onDisc(draw func(uint32) [4]float64, n uint32, word int) (p [2]float64, next uint32) {
	for ; ; n++ {
		w := draw(n)
		p = [2]float64{float64(2*w[word]) - 1, float64(2*w[word+1]) - 1}
		if r := squared(p); r < 1 && r > 1e-12 {
			return p, n + 1
		}
	}
}

func squared(p [2]float64) float64 { return float64(p[0]*p[0]) + float64(p[1]*p[1]) }

// rotation is a matrix. Each product is rounded before it is added, so that no CPU fuses the two, and results have the
// same bits everywhere.
type rotation [3][3]float64

// ofQuaternion is uniform among all rotations where a and b are uniform on the unit disc.
//
// Source: Marsaglia, "Choosing a Point from the Surface of a Sphere", Annals of Mathematical
// Statistics 43, 1972.
func ofQuaternion(a, b [2]float64) rotation {
	f := math.Sqrt((1 - squared(a)) / squared(b))
	w, x, y, z := a[0], a[1], float64(b[0]*f), float64(b[1]*f)
	twice := func(p, q, r, s float64) float64 { return 2 * (float64(p*q) + float64(r*s)) }
	return rotation{
		{1 - twice(y, y, z, z), twice(x, y, -z, w), twice(x, z, y, w)},
		{twice(x, y, z, w), 1 - twice(x, x, z, z), twice(y, z, -x, w)},
		{twice(x, z, -y, w), twice(y, z, x, w), 1 - twice(x, x, y, y)},
	}
}

// apply turns, scales and moves the vector at three places of a row.
func (m *rotation) apply(row []float32, at []int, scale float64, shift [3]float64) {
	v := [3]float64{float64(row[at[0]]), float64(row[at[1]]), float64(row[at[2]])}
	for i, r := range m {
		turned := float64(r[0]*v[0]) + float64(r[1]*v[1]) + float64(r[2]*v[2])
		row[at[i]] = float32(float64(scale*turned) + shift[i])
	}
}
