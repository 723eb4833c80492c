package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// drawing shows a point cloud or a graph as panels: the input, the tokens sampled by each layer, and the
// pooling weights.
type drawing struct {
	What   string // plural name of the tokens
	Shown  int    // number of drawn tokens if not all are drawn, else 0
	Panels []drawingPanel
}

type drawingPanel struct {
	Name  string
	Scene *chart.Scene
}

// newFeaturedView returns the view of a row whose tokens have features: a drawing of a cloud's points or
// a graph's nodes and edges, or a strip of positions if [newPlane] returns no plane.
func newFeaturedView(c *sft.Config, e *Example) sequenceView {
	x := &e.Output.Explanations[0]
	v := sequenceView{Length: len(e.Features), Pooling: poolingScale(x)}
	plane, what, near := newPlane(c, e.Features, e.Edges)
	if plane == nil {
		v.Strip = newStrip(v.Length, x, nil)
		return v
	}
	d := &drawing{What: what}
	shown := shownPoints(v.Length, x)
	if len(shown) < v.Length {
		d.Shown = len(shown)
	}
	add := func(name string, ink chart.Ink, marks []float64) {
		p := chart.Plane{Name: name, Ink: ink, Edges: plane.Edges}
		for _, i := range shown {
			p.Points, p.Marks = append(p.Points, plane.Points[i]), append(p.Marks, marks[i])
		}
		d.Panels = append(d.Panels, drawingPanel{name, p.Scene()})
	}
	add("input", chart.TextInk, near)
	for n := range x.Layers {
		l := &x.Layers[n]
		marks := make([]float64, v.Length)
		for i, at := range l.Positions {
			marks[at] = max(marks[at], 0.3+0.7*relativeMass(l, i))
		}
		add(fmt.Sprintf("layer %d sampled", n+1), sampledInk, marks)
	}
	marks := make([]float64, v.Length)
	for i, w := range x.Pooling {
		marks[i] = v.Pooling.fraction(w)
	}
	add("pooling weights", poolingInk, marks)
	v.Drawing = d
	return v
}

// maxPoints is the maximum number of drawn points of a cloud, besides the points that a layer has
// sampled.
const maxPoints = 2000

// shownPoints returns the indices of at most maxPoints points at equal intervals, and of all points
// sampled by a layer.
func shownPoints(n int, x *sft.Explanation) (out []int) {
	show := make([]bool, n)
	for i := range min(n, maxPoints) {
		show[i*n/min(n, maxPoints)] = true
	}
	for _, l := range x.Layers {
		for _, at := range l.Positions {
			show[at] = true
		}
	}
	for i, drawn := range show {
		if drawn {
			out = append(out, i)
		}
	}
	return out
}

// newPlane returns the tokens of a row on a plane, the plural name of the tokens, and how near each
// token is to the viewer. plane is nil if the tokens have neither coordinates nor edges, or if a graph
// has more than maxNodes nodes or maxEdges edges.
func newPlane(c *sft.Config, features [][]float32, edges []seq.Edge) (plane *chart.Plane, what string, near []float64) {
	xyz := seq.Points(c.FeatureNames)
	few := len(features) <= maxNodes && len(edges) <= maxEdges
	switch {
	case xyz != nil && c.Edged() && few: // nodes with coordinates
		plane, near = project(features, [3]int(xyz[:3]))
		plane.Edges = uniqueEdges(edges)
		return plane, "nodes", near
	case xyz != nil && !c.Edged():
		plane, near = project(features, [3]int(xyz[:3]))
		return plane, "points", near
	case c.Edged() && few:
		return layoutGraph(len(features), edges), "nodes", slices.Repeat([]float64{1}, len(features))
	}
	return nil, "", nil
}

// Direction from which points and nodes with coordinates are drawn, in radians.
const (
	azimuth   = 35 * math.Pi / 180 // rotation around the z axis
	elevation = 25 * math.Pi / 180
)

// project projects points orthographically, with z up. It also returns the nearness of each point to
// the viewer: 1 for the nearest point, 0.2 for the farthest.
func project(points [][]float32, xyz [3]int) (*chart.Plane, []float64) {
	p, near := &chart.Plane{}, make([]float64, len(points))
	for i, row := range points {
		x, y, z := float64(row[xyz[0]]), float64(row[xyz[1]]), float64(row[xyz[2]])
		right := x*math.Cos(azimuth) + y*math.Sin(azimuth)
		away := y*math.Cos(azimuth) - x*math.Sin(azimuth)
		p.Points = append(p.Points, chart.Point{X: right, Y: -z*math.Cos(elevation) - away*math.Sin(elevation)})
		near[i] = z*math.Sin(elevation) - away*math.Cos(elevation)
	}
	low, high := slices.Min(near), slices.Max(near)
	for i := range near {
		if high > low {
			near[i] = 0.2 + 0.8*(near[i]-low)/(high-low)
		} else {
			near[i] = 1
		}
	}
	return p, near
}
