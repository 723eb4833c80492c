package train

import (
	"errors"
	"math"

	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// Rotations lists the values of PointRotation: no rotation, a rotation about z, or a rotation about
// any axis.
var Rotations = []string{"none", "z", "any"}

// augmentsPoints reports whether training changes point clouds.
func (s *Settings) augmentsPoints() bool {
	rotates := s.PointRotation != "" && s.PointRotation != Rotations[0]
	return len(s.PointScale) > 0 || len(s.PointStretch) > 0 || rotates || s.PointShift > 0
}

// checkPoints returns an error if the settings augment point clouds and the tokens have no features
// x, y and z.
func (s *Settings) checkPoints(c *config.Config) error {
	if s.augmentsPoints() && seq.Points(c.FeatureNames) == nil {
		return errors.New("point_scale, point_stretch, point_rotation and point_shift: expected data with the " +
			"features x, y and z, found none")
	}
	return nil
}

// augmentPoints returns the features of e after augmentation. A point x becomes s·R·D·x + t: s is
// uniform within PointScale, R is a random rotation of the kind PointRotation, D is diagonal with
// entries uniform within PointStretch, and each coordinate of t is uniform from −PointShift to
// PointShift. A normal n becomes R·D⁻¹·n, scaled to its old length. All four are functions of
// (seed, row, step) only. Other features do not change, and neither does e.
func (s *Settings) augmentPoints(c *config.Config, e seq.Example, step int) [][]float32 {
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
	rotation, stretch := s.rotation(draw), s.stretch(draw)
	columns := seq.Points(c.FeatureNames)
	width := len(c.FeatureNames)
	values, out := make([]float32, len(e.Features)*width), make([][]float32, len(e.Features))
	for i, row := range e.Features {
		out[i] = values[i*width : (i+1)*width : (i+1)*width]
		copy(out[i], row)
		stretch.points(out[i], columns[:3])
		rotation.apply(out[i], columns[:3], scale, shift)
		if normals := columns[3:]; len(normals) > 0 {
			stretch.normals(out[i], normals)
			rotation.apply(out[i], normals, 1, [3]float64{})
		}
	}
	return out
}

// stretch draws one factor per axis; nil means factors of 1. Its draw differs from the draws of the
// other transformations.
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

// stretch holds one factor per axis.
type stretch []float64

func (s stretch) points(row []float32, columns []int) {
	for i, f := range s {
		row[columns[i]] = float32(float64(row[columns[i]]) * f)
	}
}

// normals divides the normal of a row by the factors, so that it stays perpendicular to the surface,
// and restores its length.
func (s stretch) normals(row []float32, columns []int) {
	if s == nil {
		return
	}
	var before, after float64
	for i, f := range s {
		n := float64(row[columns[i]])
		before, after = before+float64(n*n), after+float64(n/f*(n/f))
	}
	if !(after > 0) {
		return
	}
	length := math.Sqrt(before / after)
	for i, f := range s {
		row[columns[i]] = float32(float64(row[columns[i]]) / f * length)
	}
}

// rotation draws a rotation of the kind PointRotation. It uses the draws from number 1 on.
func (s *Settings) rotation(draw func(uint32) [4]float64) rotation {
	switch s.PointRotation {
	case "z":
		a, _ := drawOnDisc(draw, 1, 0)
		r := math.Sqrt(squaredNorm(a))
		sin, cos := a[1]/r, a[0]/r
		return rotation{{cos, -sin, 0}, {sin, cos, 0}, {0, 0, 1}}
	case "any":
		a, n := drawOnDisc(draw, 1, 0)
		b, _ := drawOnDisc(draw, n, 2)
		return quaternionRotation(a, b)
	}
	return rotation{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
}

// drawOnDisc draws a uniform point of the unit disc by rejection. It tries the draws n, n + 1, …,
// until 2w − 1 lies in the disc and is not its centre, where w has the words of the draw at indices word
// and word + 1. The result next is the number of the draw after the accepted draw. drawOnDisc avoids
// sine and cosine, whose last bits differ between CPUs.
func drawOnDisc(draw func(uint32) [4]float64, n uint32, word int) (p [2]float64, next uint32) {
	for ; ; n++ {
		w := draw(n)
		p = [2]float64{float64(2*w[word]) - 1, float64(2*w[word+1]) - 1}
		if r := squaredNorm(p); r < 1 && r > 1e-12 {
			return p, n + 1
		}
	}
}

func squaredNorm(p [2]float64) float64 { return float64(p[0]*p[0]) + float64(p[1]*p[1]) }

// rotation is a 3×3 matrix. Products are rounded before they are added, to keep the compiler from
// fusing the two operations: the results are bitwise identical on all CPUs.
type rotation [3][3]float64

// quaternionRotation returns a uniform random rotation if a and b are uniform on the unit disc.
//
// Source: Marsaglia, "Choosing a Point from the Surface of a Sphere", Annals of Mathematical
// Statistics 43, 1972.
func quaternionRotation(a, b [2]float64) rotation {
	f := math.Sqrt((1 - squaredNorm(a)) / squaredNorm(b))
	w, x, y, z := a[0], a[1], float64(b[0]*f), float64(b[1]*f)
	twice := func(p, q, r, s float64) float64 { return 2 * (float64(p*q) + float64(r*s)) }
	return rotation{
		{1 - twice(y, y, z, z), twice(x, y, -z, w), twice(x, z, y, w)},
		{twice(x, y, z, w), 1 - twice(x, x, z, z), twice(y, z, -x, w)},
		{twice(x, z, -y, w), twice(y, z, x, w), 1 - twice(x, x, y, y)},
	}
}

// apply rotates, scales and shifts the vector in three columns of a row.
func (m *rotation) apply(row []float32, columns []int, scale float64, shift [3]float64) {
	v := [3]float64{float64(row[columns[0]]), float64(row[columns[1]]), float64(row[columns[2]])}
	for i, r := range m {
		rotated := float64(r[0]*v[0]) + float64(r[1]*v[1]) + float64(r[2]*v[2])
		row[columns[i]] = float32(float64(scale*rotated) + shift[i])
	}
}
