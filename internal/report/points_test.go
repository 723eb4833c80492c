package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestDrawings checks that a cloud is drawn from the side, with nearer points darker, and that tokens
// without coordinates or edges are shown as a strip.
func TestDrawings(t *testing.T) {
	cloud := &Example{Features: [][]float32{{0, 0, 0}, {0, 0, 1}, {0, -3, 0}, {0, 3, 0}},
		Output: sft.Output{Explanations: []sft.Explanation{*explanation(4, 1)}}}
	view := newFeaturedView(&sft.Config{Inputs: config.Inputs{FeatureNames: []string{"z", "y", "x"}}}, cloud)
	if view.Drawing == nil || view.Strip != nil || view.Length != 4 || view.Drawing.What != "points" {
		t.Fatalf("got %+v, want a drawing of 4 points", view)
	}
	var names []string
	for _, p := range view.Drawing.Panels {
		names = append(names, p.Name)
	}
	if want := []string{"input", "layer 1 sampled", "pooling weights"}; !slices.Equal(names, want) {
		t.Errorf("got panels %q, want %q", names, want)
	}
	shades := func(panel int) int {
		return strings.Count(string(view.Drawing.Panels[panel].Scene.Inline()), ` opacity="`)
	}
	if shades(0) == 0 || shades(1) != 1 { // far points and tokens of small mass are lighter
		t.Errorf("got %d shades of nearness and %d of mass, want at least 1 and exactly 1", shades(0), shades(1))
	}
	plane, near := project([][]float32{{0, 0, 0}, {0, 0, 1}, {0, -3, 0}, {0, 3, 0}}, [3]int{0, 1, 2})
	if at := plane.Points; at[1].Y >= at[0].Y || at[1].X != at[0].X {
		t.Errorf("got points %v, want z up", at)
	}
	if near[2] != 1 || near[3] != 0.2 || near[0] <= near[3] || near[0] >= near[2] {
		t.Errorf("got nearness %v, want 1 for the lowest y, 0.2 for the highest", near)
	}

	other := newFeaturedView(&sft.Config{Inputs: config.Inputs{FeatureNames: []string{"mass"}}}, cloud)
	if other.Drawing != nil || other.Strip == nil ||
		strings.Contains(string(other.Strip.Scene().Inline()), "tokens</text>") {
		t.Errorf("got %+v, want a strip without tokens", other)
	}
}

// TestManyPoints checks that only some of many points are shown, including the points that a layer has
// sampled. Graphs with coordinates keep their edges, and graphs with too many nodes or edges have no
// drawing.
func TestManyPoints(t *testing.T) {
	const n = 9001
	x := explanation(n, 5)
	x.Layers[0].Positions[0] = 7
	shown := shownPoints(n, x)
	if len(shown) < maxPoints || len(shown) > maxPoints+2 || !slices.Contains(shown, 7) ||
		!slices.Contains(shown, n-1) {
		t.Errorf("got %d points shown, want %d to %d with the sampled points", len(shown), maxPoints, maxPoints+2)
	}
	row := func(n int) *Example {
		return &Example{Features: slices.Repeat([][]float32{{1, 2, 3}}, n),
			Output: sft.Output{Explanations: []sft.Explanation{*explanation(n, 1)}}}
	}
	points, masses := &sft.Config{Inputs: config.Inputs{FeatureNames: []string{"x", "y", "z"}}},
		&sft.Config{
			Inputs: config.Inputs{FeatureNames: []string{"a", "b", "c"}, EdgeFeatureNames: []string{}},
		}
	if d := newFeaturedView(points, row(n)).Drawing; d == nil || d.Shown < maxPoints || d.Shown > maxPoints+2 {
		t.Errorf("got %+v, want about maxPoints points shown", d)
	}
	if d := newFeaturedView(points, row(20)).Drawing; d == nil || d.Shown != 0 {
		t.Errorf("got %+v, want all points shown", d)
	}
	space := &sft.Config{
		Inputs: config.Inputs{FeatureNames: []string{"x", "y", "z"}, EdgeFeatureNames: []string{}},
	}
	e := row(3)
	e.Edges = []seq.Edge{{Source: 0, Target: 1}, {Source: 1, Target: 0}}
	plane, what, _ := newPlane(space, e.Features, e.Edges)
	if plane == nil || what != "nodes" || len(plane.Edges) != 1 {
		t.Errorf("got %+v of %s, want nodes with one edge", plane, what)
	}
	if newFeaturedView(masses, row(maxNodes)).Drawing == nil ||
		newFeaturedView(masses, row(maxNodes+1)).Strip == nil {
		t.Error("nodes beyond the limit are drawn, or those within it are not")
	}
	e.Edges = slices.Repeat(e.Edges[:1], maxEdges+1)
	if newFeaturedView(masses, e).Strip == nil {
		t.Error("edges beyond the limit are drawn")
	}
}
