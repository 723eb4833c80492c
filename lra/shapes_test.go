package lra

import (
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cloud"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// TestShapes checks that clouds without noise have radius 1, that normals have length 1 and that a split
// has all classes. The same seed must produce the same clouds, and another seed other clouds.
func TestShapes(t *testing.T) {
	o := GenerateOptions{Train: 90, Test: 3, Seed: 7, Rule: &ShapesRule{Points: 40}}
	d := must.Get(Shapes.Generate(t.Context(), filepath.Join(t.TempDir(), "a"), o))(t)
	again, err := Shapes.Generate(t.Context(), filepath.Join(t.TempDir(), "b"), o)
	if err != nil || again.Fingerprint() != d.Fingerprint() {
		t.Errorf("the same seed resulted in another fingerprint; error %v", err)
	}
	o.Seed++
	if other, err := Shapes.Generate(t.Context(), filepath.Join(t.TempDir(), "c"), o); err != nil ||
		other.Fingerprint() == d.Fingerprint() {
		t.Errorf("another seed resulted in the same fingerprint; error %v", err)
	}
	f := must.Get(d.Open("train"))(t)
	defer f.Close()
	seen := map[int32]bool{}
	for i := range f.Len() {
		e, err := f.Example(i)
		if err != nil || len(e.Features) != 40 {
			t.Fatalf("%d points, want 40; error %v", len(e.Features), err)
		}
		seen[e.Label] = true
		radius := 0.0
		for _, row := range e.Features {
			v := func(at int) vec { return vec{float64(row[at]), float64(row[at+1]), float64(row[at+2])} }
			radius = max(radius, v(0).Norm())
			if math.Abs(v(3).Norm()-1) > 1e-5 {
				t.Fatalf("normal of length %v, want 1", v(3).Norm())
			}
		}
		if math.Abs(radius-1) > 1e-5 {
			t.Fatalf("radius %v, want 1", radius)
		}
	}
	if len(seen) != len(shapes) {
		t.Errorf("%d classes in 90 rows, want all", len(seen))
	}
}

// TestShapesSplitSizes checks that a row is a function of the seed, the split and the row's index,
// and does not depend on the sizes of the splits.
func TestShapesSplitSizes(t *testing.T) {
	rule := ShapesRule{Points: 12, Noise: 10}
	for _, rows := range [][3]int{{2, 3, 4}, {5, 0, 2}, {0, 6, 1}} {
		d, err := Shapes.Generate(t.Context(), filepath.Join(t.TempDir(), "data"),
			GenerateOptions{Train: rows[0], Val: rows[1], Test: rows[2], Seed: 7, Rule: &rule})
		must.Succeed(t, err)
		for split, name := range []string{"train", "val", "test"} {
			if got := int(d.Manifest.Splits[name].Rows); got != rows[split] {
				t.Fatalf("split %s has %d rows, want the sizes %v", name, got, rows)
			}
			if rows[split] == 0 {
				continue
			}
			f := must.Get(d.Open(name))(t)
			defer f.Close()
			for i := range f.Len() {
				e, err := f.Example(i)
				if want := rule.cloud(7, uint64(split)<<40|uint64(i)); err != nil || e.Label != want.Label ||
					!reflect.DeepEqual(e.Features, want.Features) {
					t.Errorf("sizes %v: row %d of %s differs from the rule's cloud; error %v", rows, i, name, err)
				}
			}
		}
	}
}

// TestParts checks that parts do not change the clouds, that every point has a part of the row's
// class, and that every part of each shape occurs.
func TestParts(t *testing.T) {
	rule := ShapesRule{Points: 200, Noise: 10, parts: true}
	d, err := ShapeParts.Generate(t.Context(), filepath.Join(t.TempDir(), "parts"),
		GenerateOptions{Train: 90, Seed: 7, Rule: &rule})
	must.Succeed(t, err)
	f := must.Get(d.Open("train"))(t)
	defer f.Close()
	names := d.Manifest.LabelNames
	classes, seen := rule, map[string]bool{}
	classes.parts = false
	for i := range f.Len() {
		e := must.Get(f.Example(i))(t)
		class := classes.cloud(7, uint64(i))
		if class.Labels != nil || !reflect.DeepEqual(e.Features, class.Features) {
			t.Fatalf("row %d differs from the cloud without parts", i)
		}
		if len(e.Labels) != rule.Points {
			t.Fatalf("row %d: got %d labels, want %d, one for each point", i, len(e.Labels), rule.Points)
		}
		for _, label := range e.Labels {
			name := names[label]
			if category, _, _ := strings.Cut(name, "/"); category != shapes[class.Label].name {
				t.Fatalf("row %d is a %s, but has the part %s", i, shapes[class.Label].name, name)
			}
			seen[name] = true
		}
	}
	if len(seen) != len(names) || len(names) != 15 || !seen["mug/handle"] || !seen["table/leg"] {
		t.Errorf("found %d of %d parts, want all 15: %v", len(seen), len(names), seen)
	}
	// The handle of an upright mug must be beside its body.
	upright := ShapesRule{Points: 300, Upright: true, parts: true}
	for n := range uint64(60) {
		e := upright.cloud(0, n)
		if !strings.HasPrefix(names[e.Labels[0]], "mug/") {
			continue
		}
		body, handle := float32(-1), float32(-1) // largest x of the body and of the handle
		for i, label := range e.Labels {
			if names[label] == "mug/handle" {
				handle = max(handle, e.Features[i][0])
			} else {
				body = max(body, e.Features[i][0])
			}
		}
		if handle <= body {
			t.Errorf("cloud %d: largest x of the mug's handle %v, want more than its body's %v", n, handle, body)
		}
	}
}

// TestSurfaces checks by finite differences that normals are perpendicular to the surface, and that
// points are uniform: pointAt must scale areas by the same factor everywhere, the surface's area.
func TestSurfaces(t *testing.T) {
	for _, s := range shapes {
		for i, p := range s.draw(func(lo, hi float64) float64 { return (lo + hi) / 2 }) {
			if p.part < 0 || p.part >= len(s.parts) {
				t.Errorf("%s: surface %d has the invalid part %d", s.name, i, p.part)
			}
			for _, uv := range [][2]float64{{0.2, 0.3}, {0.7, 0.6}, {0.45, 0.9}} {
				const h = 1e-5
				_, n := p.pointAt(uv[0], uv[1])
				derivative := func(du, dv float64) vec {
					a, _ := p.pointAt(uv[0]+du, uv[1]+dv)
					b, _ := p.pointAt(uv[0]-du, uv[1]-dv)
					return a.Plus(b.Times(-1)).Times(1 / (2 * h))
				}
				u, v := derivative(h, 0), derivative(0, h)
				cross := u.Cross(v)
				projection := math.Abs(cross[0]*n[0] + cross[1]*n[1] + cross[2]*n[2])
				if math.Abs(projection-cross.Norm()) > 1e-4*cross.Norm() {
					t.Errorf("%s, surface %d: the normal %v is not perpendicular to the surface", s.name, i, n)
				}
				if math.Abs(cross.Norm()-p.area) > 0.01*p.area {
					t.Errorf("%s, surface %d: the map scales areas by %v, want the area %v", s.name, i, cross.Norm(),
						p.area)
				}
			}
		}
	}
}

// TestShapesInvalidRules checks that Generate refuses invalid rules and numbers of rows, and writes
// no data set. It also checks that the identity matrix does not change a vector.
func TestShapesInvalidRules(t *testing.T) {
	for _, o := range []GenerateOptions{{Rule: &ShapesRule{Points: 5}}, {Train: 1, Rule: &ShapesRule{}},
		{Train: -1, Rule: &ShapesRule{Points: 5}}, {Train: 1, Rule: &ShapesRule{Points: 5, Noise: -1}},
		{Train: 1, Rule: &ShapesRule{Points: cloud.MaxPoints + 1}}} {
		dir := filepath.Join(t.TempDir(), "data")
		if d, err := Shapes.Generate(t.Context(), dir, o); err == nil {
			t.Errorf("options %+v: got the data set %v, want an error", o, d)
		}
		must.Fail(t, "", o, "a data set exists")(seq.OpenDataset(dir))
	}
	if got, want := identity.apply(vec{1, 2, 3}), (vec{1, 2, 3}); !reflect.DeepEqual(got, want) {
		t.Errorf("identity.apply(%v) = %v, want %[1]v", want, got)
	}
}

// TestUsualShapes checks that the default rule of data generate is the rule of the preset.
func TestUsualShapes(t *testing.T) {
	for _, task := range []*Task{Shapes, ShapeParts} {
		if drawn, trained := task.Generator.Rule(), task.Presets[0].Data.Rule; !reflect.DeepEqual(drawn, trained) {
			t.Errorf("%s: the default rule is %+v, want the preset's %+v", task.Name, drawn, trained)
		}
	}
}
