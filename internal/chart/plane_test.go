package chart

import (
	"strings"
	"testing"
)

// TestPlane checks that distances keep their proportions, that a single point is centred, and that
// darker points are drawn later.
func TestPlane(t *testing.T) {
	p := Plane{Name: "two", Points: []Point{{0, 0}, {10, 5}}, Edges: [][2]int{{0, 1}},
		Marks: []float64{1, 0}, Ink: TextInk}
	at := p.scaleInto(0, 100)
	if at[0] != (Point{0, 25}) || at[1] != (Point{100, 75}) {
		t.Errorf("got %v, want (0, 25) and (100, 75)", at)
	}
	if at := (Plane{Points: []Point{{3, 4}}}).scaleInto(0, 100); at[0] != (Point{50, 50}) {
		t.Errorf("got %v, want (50, 50)", at)
	}
	svg := string(p.Scene().Inline())
	pale, dark := strings.LastIndex(svg, FrameInk.attributes()), strings.Index(svg, TextInk.attributes())
	if strings.Count(svg, "<path") != 3 || pale < 0 || dark < pale {
		t.Errorf("want an edge and a pale point, then a dark point, got\n%s", svg)
	}
}

// TestTallPlane checks that points that span more height than width fit into the square, and that
// shades differ.
func TestTallPlane(t *testing.T) {
	p := Plane{Points: []Point{{0, 0}, {1, 10}, {0.5, 5}}, Marks: []float64{0.1, 0.5, 1}, Ink: TextInk}
	for _, q := range p.scaleInto(8, 186) {
		if q.X < 8 || q.X > 186 || q.Y < 8 || q.Y > 186 {
			t.Errorf("got a point at %v, want X and Y from 8 to 186", q)
		}
	}
	if svg := string(p.Scene().Inline()); strings.Count(svg, ` opacity="0.2"`) != 1 ||
		strings.Count(svg, ` opacity="0.6"`) != 1 || strings.Count(svg, "<path") != 3 {
		t.Errorf("want three points with the opacities 0.2, 0.6 and 1, got\n%s", svg)
	}
}
