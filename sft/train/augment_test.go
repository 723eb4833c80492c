package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// pointRows returns n points with normals and a further feature. The columns are not in the order
// x, y, z.
func pointRows(n int) (*config.Config, seq.Example) {
	c := &config.Config{
		Inputs: config.Inputs{FeatureNames: []string{"z", "ny", "heat", "x", "nx", "y", "nz"}},
	}
	r := rand.New(rand.NewPCG(1, 2))
	e := seq.Example{Index: 7}
	for range n {
		row := make([]float32, len(c.FeatureNames))
		for i := range row {
			row[i] = float32(r.NormFloat64())
		}
		e.Features = append(e.Features, row)
	}
	return c, e
}

func vectorOf(c *config.Config, row []float32, names ...string) (v [3]float64) {
	for i, name := range names {
		v[i] = float64(row[slices.Index(c.FeatureNames, name)])
	}
	return v
}

func dot(a, b [3]float64) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

func sub(a, b [3]float64) [3]float64 { return [3]float64{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }

// TestAugmentPoints checks that the scale is within its bounds, and that normals rotate with the
// points and keep their length. Handedness and other features must not change. A rotation about z
// must keep the heights, up to the scale. An example must have the same points in any batch.
func TestAugmentPoints(t *testing.T) {
	c, e := pointRows(9)
	before := slices.Clone(e.Features[0])
	minFactor, maxFactor := math.Inf(1), 0.0
	for step := range 200 {
		s := Settings{Seed: 5, PointScale: []float64{0.6, 1.4},
			PointRotation: []string{"z", "any"}[step%2], PointShift: 0.1}
		got := s.addNoise(c, []seq.Example{{Index: 3, Features: e.Features[:2]}, e}, step, 2)[1].Features
		if again := s.addNoise(c, []seq.Example{e}, step, 2)[0].Features; !slices.EqualFunc(got, again, slices.Equal) {
			t.Fatalf("step %d: got points %v in a batch of two, want %v as in a batch of one", step, got, again)
		}
		a, b := vectorOf(c, e.Features[1], "x", "y", "z"), vectorOf(c, e.Features[2], "x", "y", "z")
		p, q := vectorOf(c, got[1], "x", "y", "z"), vectorOf(c, got[2], "x", "y", "z")
		factor := math.Sqrt(dot(sub(p, q), sub(p, q)) / dot(sub(a, b), sub(a, b)))
		minFactor, maxFactor = min(minFactor, factor), max(maxFactor, factor)
		checkClose := func(name string, got, want float64) {
			if math.Abs(got-want) > 1e-5 {
				t.Errorf("step %d: %s is %g, want %g", step, name, got, want)
			}
		}
		n, m := vectorOf(c, e.Features[1], "nx", "ny", "nz"), vectorOf(c, got[1], "nx", "ny", "nz")
		checkClose("the squared length of a normal", dot(m, m), dot(n, n))
		checkClose("a normal along an edge", dot(m, sub(p, q)), factor*dot(n, sub(a, b)))
		u, v := vectorOf(c, e.Features[3], "nx", "ny", "nz"), vectorOf(c, e.Features[4], "nx", "ny", "nz")
		x, y := vectorOf(c, got[3], "nx", "ny", "nz"), vectorOf(c, got[4], "nx", "ny", "nz")
		triple := func(a, b, c [3]float64) float64 {
			return dot(a, [3]float64{b[1]*c[2] - b[2]*c[1], b[2]*c[0] - b[0]*c[2], b[0]*c[1] - b[1]*c[0]})
		}
		checkClose("orientation", triple(m, x, y), triple(n, u, v))
		if s.PointRotation == "z" {
			checkClose("the height of an edge", p[2]-q[2], factor*(a[2]-b[2]))
			checkClose("the height of a normal", m[2], n[2])
		}
		if heat := slices.Index(c.FeatureNames, "heat"); got[1][heat] != e.Features[1][heat] {
			t.Fatalf("step %d: the feature heat changed", step)
		}
	}
	if minFactor < 0.6-1e-5 || maxFactor > 1.4+1e-5 || minFactor > 0.62 || maxFactor < 1.38 {
		t.Errorf("factors from %g to %g, want 0.6 to 1.4", minFactor, maxFactor)
	}
	if !slices.Equal(before, e.Features[0]) {
		t.Error("addNoise changed its argument")
	}
}

// TestStretch checks that each axis has its own factor within the bounds, and that the rotation
// follows the stretch. Normals must stay perpendicular to the surface and keep their length.
func TestStretch(t *testing.T) {
	c, e := pointRows(3)
	n := vectorOf(c, e.Features[0], "nx", "ny", "nz")
	tangent := [3]float64{n[1], -n[0], 0} // perpendicular to n
	for i, name := range []string{"x", "y", "z"} {
		at := slices.Index(c.FeatureNames, name)
		e.Features[1][at] = e.Features[0][at] + float32(tangent[i])
	}
	minFactor, maxFactor := math.Inf(1), 0.0
	for step := range 300 {
		s := Settings{Seed: 5, PointStretch: []float64{0.5, 2}}
		got := s.augmentPoints(c, e, step)
		var factors [3]float64
		p, q := vectorOf(c, e.Features[2], "x", "y", "z"), vectorOf(c, got[2], "x", "y", "z")
		for i := range factors {
			factors[i] = q[i] / p[i]
			minFactor, maxFactor = min(minFactor, factors[i]), max(maxFactor, factors[i])
		}
		if factors[0] == factors[1] || factors[1] == factors[2] {
			t.Fatalf("step %d: factors %v, want three different factors", step, factors)
		}
		m := vectorOf(c, got[0], "nx", "ny", "nz")
		edge := sub(vectorOf(c, got[1], "x", "y", "z"), vectorOf(c, got[0], "x", "y", "z"))
		if math.Abs(dot(m, edge)) > 1e-5 || math.Abs(dot(m, m)-dot(n, n)) > 1e-5 {
			t.Errorf("step %d: the normal has length² %g, want %g, and the product %g with an edge, want 0", step,
				dot(m, m), dot(n, n), dot(m, edge))
		}
		s.PointScale, s.PointStretch = []float64{0.5, 2}, nil
		if scaled := vectorOf(c, s.augmentPoints(c, e, step)[2], "x", "y",
			"z"); math.Abs(scaled[0]/p[0]-factors[0]) < 1e-6 {
			t.Fatalf("step %d: the factor %g of the scale, want one other than the stretch's %g", step,
				scaled[0]/p[0], factors[0])
		}
		s.PointScale, s.PointStretch, s.PointRotation = nil, []float64{0.5, 2}, "z"
		if rotated := vectorOf(c, s.augmentPoints(c, e, step)[2], "x", "y", "z"); math.Abs(rotated[2]-q[2]) > 1e-5 ||
			math.Abs(dot(rotated, rotated)-dot(q, q)) > 1e-4 {
			t.Errorf("step %d: %v rotated about z is %v, want the same z and length", step, q, rotated)
		}
	}
	if minFactor < 0.5-1e-5 || maxFactor > 2+1e-5 || minFactor > 0.52 || maxFactor < 1.95 {
		t.Errorf("factors from %g to %g, want 0.5 to 2", minFactor, maxFactor)
	}
	zero := make([]float32, len(c.FeatureNames)) // a point without a normal
	if got := (&Settings{PointStretch: []float64{0.5, 2}}).augmentPoints(c, seq.Example{Features: [][]float32{zero}},
		1)[0]; !slices.Equal(got, zero) {
		t.Errorf("a point of zeros becomes %v, want zeros", got)
	}
}

// TestRotationsAreUniform checks mean and mean square of rotated unit vectors: a rotation "any" is
// uniform on the sphere, a rotation "z" is uniform on the circle. Shifts are uniform within their
// bounds.
func TestRotationsAreUniform(t *testing.T) {
	c := &config.Config{Inputs: config.Inputs{FeatureNames: []string{"x", "y", "z"}}}
	const n = 20000
	for _, by := range Rotations[1:] {
		s := Settings{Seed: 2, PointRotation: by}
		var mean, square [3]float64
		for step := range n {
			v := vectorOf(c, s.augmentPoints(c, seq.Example{Index: 1, Features: [][]float32{{1, 0, 0}}}, step)[0], "x",
				"y", "z")
			for i := range v {
				mean[i] += v[i] / n
				square[i] += v[i] * v[i] / n
			}
		}
		want := [3]float64{1. / 3, 1. / 3, 1. / 3}
		if by == "z" {
			want = [3]float64{0.5, 0.5, 0}
		}
		for i := range mean {
			if math.Abs(mean[i]) > 0.02 || math.Abs(square[i]-want[i]) > 0.01 {
				t.Errorf("%s: mean %.3f, mean square %.3f, want 0 and %.3f", by, mean, square, want)
			}
		}
	}
	s := Settings{Seed: 2, PointShift: 0.5}
	var mean, square, maximum float64
	for step := range n {
		v := float64(s.augmentPoints(c, seq.Example{Features: [][]float32{{0, 0, 0}}}, step)[0][1])
		mean, square, maximum = mean+v/n, square+v*v/n, max(maximum, math.Abs(v))
	}
	if math.Abs(mean) > 0.01 || math.Abs(square-0.25/3) > 0.003 || maximum > 0.5 || maximum < 0.49 {
		t.Errorf("shifts have mean %g, mean square %g, maximum %g; want 0, 1/12, 0.5", mean, square, maximum)
	}
}

// TestAugmentationsDiffer checks that rows, seeds and steps have different draws, that each axis
// has its own shift, and that the angle about z does not correlate with the scale.
func TestAugmentationsDiffer(t *testing.T) {
	c := &config.Config{Inputs: config.Inputs{FeatureNames: []string{"x", "y", "z"}}}
	s := Settings{Seed: 1, PointScale: []float64{1, 2}, PointRotation: "z", PointShift: 1}
	augment := func(s Settings, row uint32, step int) []float32 {
		return s.augmentPoints(c, seq.Example{Index: row, Features: [][]float32{{1, 0, 0}}}, step)[0]
	}
	other := s
	other.Seed = 2
	first := augment(s, 1, 1)
	for name, p := range map[string][]float32{"row": augment(s, 2, 1), "step": augment(s, 1, 2),
		"seed": augment(other, 1, 1)} {
		if slices.Equal(p, first) {
			t.Errorf("a different %s leads to the same point", name)
		}
	}
	shift := Settings{Seed: 1, PointShift: 1}
	if p := augment(shift, 1, 1); p[0]-1 == p[1] || p[1] == p[2] {
		t.Errorf("the point (1, 0, 0) is shifted to %v, want a different shift for each axis", p)
	}
	var product, scales, angles float64 // sums for the correlation of factor and angle
	const n = 2000
	rotating := Settings{Seed: 1, PointScale: []float64{1, 2}, PointRotation: "z"}
	for step := range n {
		p := augment(rotating, 1, step)
		scale, angle := math.Hypot(float64(p[0]), float64(p[1]))-1.5, math.Atan2(float64(p[1]), float64(p[0]))
		product, scales, angles = product+scale*angle, scales+scale*scale, angles+angle*angle
	}
	if r := product / math.Sqrt(scales*angles); math.Abs(r) > 0.1 {
		t.Errorf("the correlation of the angle and the factor is %.2f, want −0.1 to 0.1", r)
	}
}

// TestAugmentationRefusals checks that Validate rejects malformed settings, and that NewStepper refuses
// tokens without coordinates.
func TestAugmentationRefusals(t *testing.T) {
	for name, set := range map[string]func(*Settings){
		"scale":    func(s *Settings) { s.PointScale = []float64{1, 2} },
		"rotation": func(s *Settings) { s.PointRotation = "z" }, "shift": func(s *Settings) { s.PointShift = 1 },
	} {
		s := runSettings()
		s.TokenDeletion, s.TokenReplacement = 0, 0
		set(&s)
		must.Fail(t, "expected data with the features x, y and z, found none",
			name)(NewStepper(modeltest.RandomModel(configtest.TinyConfig(), 1), s, cpu.New(1), 9, 0))
	}
	for want, set := range map[string]func(*Settings){
		"point-scale [2 1]":      func(s *Settings) { s.PointScale = []float64{2, 1} },
		"point-scale [0 1]":      func(s *Settings) { s.PointScale = []float64{0, 1} },
		"point-scale [1]":        func(s *Settings) { s.PointScale = []float64{1} },
		"point-scale [1 NaN]":    func(s *Settings) { s.PointScale = []float64{1, math.NaN()} },
		"point-shift -1":         func(s *Settings) { s.PointShift = -1 },
		`point-rotation "round"`: func(s *Settings) { s.PointRotation = "round" },
	} {
		s := runSettings()
		set(&s)
		must.Fail(t, want)(s.Validate())
	}
}
