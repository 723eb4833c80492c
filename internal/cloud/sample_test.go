package cloud

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestFarthest checks farthest point sampling on a plate with a pin of a hundredth of its area. The
// points must be farther apart than uniform points, and more of them must lie on the pin. Each point
// must keep the normal of its face.
func TestFarthest(t *testing.T) {
	s := &Shape{Points: []Vec{{0, 0, 0}, {10, 0, 0}, {10, 10, 0}, {0, 10, 0}, {5, 5, -10},
		{5.1, 5, -10}, {5.1, 5, 0}, {5, 5, 0}}}
	s.fan([]int{0, 1, 2, 3})
	s.fan([]int{4, 5, 6, 7})
	const n = 128
	random := rand.New(rand.NewPCG(1, 2)).Float64
	uniform, err := s.Sample(t.Context(), n, random)
	if err != nil {
		t.Fatal(err)
	}
	far, err := s.Farthest(t.Context(), n, random)
	if err != nil {
		t.Fatal(err)
	}
	pins := func(taken *Shape) (count int, closest float64) {
		closest = math.Inf(1)
		for i, p := range taken.Points {
			if p[2] < 0 {
				count++
			}
			for _, q := range taken.Points[:i] {
				closest = min(closest, p.Minus(q).Norm())
			}
		}
		return count, closest
	}
	few, close := pins(uniform)
	many, apart := pins(far)
	if few > 3 || many < 5 || close > 0.2 || apart < 0.5 {
		t.Errorf("got %d points on the pin and a minimum distance of %g, want at least 5 and 0.5; "+
			"uniform points: got %d and %g, want at most 3 and 0.2", many, apart, few, close)
	}
	if len(far.Points) != n {
		t.Errorf("got %d points, want %d", len(far.Points), n)
	}
	for i, p := range far.Points {
		if pin := p[2] < 0; (far.Normals[i][2] == 0) != pin {
			t.Fatalf("point %v has normal %v, want the normal of its face", p, far.Normals[i])
		}
	}
	flat := &Shape{Points: make([]Vec, 3), Faces: [][3]int32{{0, 1, 2}}}
	if _, err := flat.Farthest(t.Context(), 1, random); err == nil || !strings.Contains(err.Error(), "area above 0") {
		t.Errorf(`surface without area: got error %v, want one with "area above 0"`, err)
	}
	corners := &Shape{Points: s.Points[:4]}
	if taken, err := corners.Farthest(t.Context(), 3, random); err != nil || len(taken.Points) != 3 {
		t.Errorf("point set: got %+v, error %v; want 3 points", taken, err)
	}
}

// TestSamePoints checks that the radius of points that are equal up to rounding is 0 at any
// position, even if rounding moves their mean. Close but distinct points far from the origin must
// have a positive radius.
func TestSamePoints(t *testing.T) {
	for _, c := range []struct {
		points []Vec
		same   bool
	}{
		{slices.Repeat([]Vec{{1, 1, 1}}, 50), true},
		{slices.Repeat([]Vec{{0.1, -0.7, 1e6}}, 1001), true},
		{append(slices.Repeat([]Vec{{1, 1, 1}}, 49), Vec{1, math.Nextafter(1, 2), 1}), true},
		{[]Vec{{}, {}, {}}, true},
		{[]Vec{{5e6, 4e5, 1}, {5e6 + 1e-3, 4e5, 1}, {5e6, 4e5 + 1e-3, 1}}, false},
		{[]Vec{{1e-100, 0, 0}, {2e-100, 0, 0}}, false},
	} {
		first := c.points[0]
		if radius := Normalize(c.points); (radius == 0) != c.same || c.same && c.points[1] != (Vec{}) {
			want := "another radius than 0"
			if c.same {
				want = "radius 0 and second point [0 0 0]"
			}
			t.Errorf("%d points at %v: got radius %v and second point %v, want %s", len(c.points), first, radius,
				c.points[1], want)
		}
	}
}
