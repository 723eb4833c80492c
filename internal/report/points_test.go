package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// TestDrawings: a cloud is seen from one side, nearer points darker; a graph is laid out, the
// same each time, with neighbours nearer than others; tokens that have no place are shown by
// their positions.
func TestDrawings(t *testing.T) {
	cloud := &Example{Features: [][]float32{{0, 0, 0}, {0, 0, 1}, {0, -3, 0}, {0, 3, 0}}, Output: sft.Output{Explanations: []sft.Explanation{*explanation(4, 1)}}}
	view := newFeaturedView(&sft.Config{FeatureNames: []string{"z", "y", "x"}}, cloud)
	if view.Drawing == nil || view.Strip != nil || view.Length != 4 || view.Drawing.What != "points" {
		t.Fatalf("%+v", view)
	}
	var names []string
	for _, p := range view.Drawing.Panels {
		names = append(names, p.Name)
	}
	if want := []string{"as it is read", "layer 1 sampled", "pooling weights"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	plane, near := seen([][]float32{{0, 0, 0}, {0, 0, 1}, {0, -3, 0}, {0, 3, 0}}, [3]int{0, 1, 2})
	if at := plane.Points; at[1].Y >= at[0].Y || at[1].X != at[0].X {
		t.Errorf("z is not up: %v", at)
	}
	if near[2] != 1 || near[3] != 0.2 || near[0] <= near[3] || near[0] >= near[2] {
		t.Errorf("near %v: y leads away", near)
	}

	var ring []seq.Edge
	for n := range int32(12) {
		ring = append(ring, seq.Edge{Source: n, Target: (n + 1) % 12}, seq.Edge{Source: (n + 1) % 12, Target: n}, seq.Edge{Source: n, Target: n})
	}
	g := laidOut(12, ring)
	if !slices.Equal(g.Points, laidOut(12, ring).Points) || len(g.Edges) != 12 {
		t.Errorf("%d edges, %v", len(g.Edges), g.Points)
	}
	distance := func(a, b int) float64 {
		return math.Hypot(g.Points[a].X-g.Points[b].X, g.Points[a].Y-g.Points[b].Y)
	}
	for n := range 12 {
		if distance(n, (n+1)%12) >= distance(n, (n+6)%12) {
			t.Errorf("node %d is nearer to the other side of the ring than to its neighbour", n)
		}
	}
	if p := laidOut(1, nil); len(p.Points) != 1 {
		t.Errorf("%v", p.Points)
	}
	other := newFeaturedView(&sft.Config{FeatureNames: []string{"mass"}}, cloud)
	if other.Drawing != nil || other.Strip == nil || strings.Contains(string(other.Strip.Scene().Inline()), "tokens</text>") {
		t.Errorf("%+v", other)
	}
}
