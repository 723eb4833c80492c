package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/sft"
)

// drawing is a point cloud or a graph: as the model reads it, with what each layer sampled, and
// with the weights of the pooling.
type drawing struct {
	What   string // of its tokens, several
	Panels []drawingPanel
}

type drawingPanel struct {
	Name  string
	Scene *chart.Scene
}

// newFeaturedView shows a row whose tokens have features: a cloud by its points, a graph by its
// nodes, and what is neither over its positions.
func newFeaturedView(c *sft.Config, e *Example) sequenceView {
	x := &e.Output.Explanations[0]
	v := sequenceView{Length: len(e.Features), Pooling: poolingScale(x)}
	plane, what, near := planeOf(c, e)
	if plane == nil {
		v.Strip = newStrip(v.Length, x, nil)
		return v
	}
	d := &drawing{What: what}
	add := func(name string, ink chart.Ink, marks []float64) {
		p := *plane
		p.Name, p.Ink, p.Marks = name, ink, marks
		d.Panels = append(d.Panels, drawingPanel{name, p.Scene()})
	}
	add("as it is read", chart.TextInk, near)
	for n := range x.Layers {
		l := &x.Layers[n]
		marks := make([]float64, v.Length)
		for i, at := range l.Positions {
			marks[at] = max(marks[at], 0.3+0.7*share(l, i))
		}
		add(fmt.Sprintf("layer %d sampled", n+1), sampledInk, marks)
	}
	marks := make([]float64, v.Length)
	for i, w := range x.Pooling {
		marks[i] = v.Pooling.of(w)
	}
	add("pooling weights", poolingInk, marks)
	v.Drawing = d
	return v
}

// planeOf are the tokens of a row on a plane, what they are called, and how near each is; nil
// where they have no place.
func planeOf(c *sft.Config, e *Example) (plane *chart.Plane, what string, near []float64) {
	var xyz [3]int
	for i, name := range []string{"x", "y", "z"} {
		xyz[i] = slices.Index(c.FeatureNames, name)
	}
	switch {
	case !slices.Contains(xyz[:], -1):
		plane, near = seen(e.Features, xyz)
		return plane, "points", near
	case c.Edged() && len(e.Features) <= mostDrawn:
		return laidOut(len(e.Features), e.Edges), "nodes", slices.Repeat([]float64{1}, len(e.Features))
	}
	return nil, "", nil
}

// From where a cloud is seen: so far around its z axis, and so far from above.
const (
	aroundZ   = 35 * math.Pi / 180
	fromAbove = 25 * math.Pi / 180
)

// seen are points as they look from far away, z up. The nearest is 1 near, the farthest 0.2.
func seen(points [][]float32, xyz [3]int) (*chart.Plane, []float64) {
	p, near := &chart.Plane{}, make([]float64, len(points))
	for i, row := range points {
		x, y, z := float64(row[xyz[0]]), float64(row[xyz[1]]), float64(row[xyz[2]])
		right := x*math.Cos(aroundZ) + y*math.Sin(aroundZ)
		away := y*math.Cos(aroundZ) - x*math.Sin(aroundZ)
		p.Points = append(p.Points, chart.Point{X: right, Y: -z*math.Cos(fromAbove) - away*math.Sin(fromAbove)})
		near[i] = z*math.Sin(fromAbove) - away*math.Cos(fromAbove)
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
