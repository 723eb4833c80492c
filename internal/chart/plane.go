package chart

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Plane shows points, and edges between them, without axes: a projected point cloud or a graph, for
// example.
type Plane struct {
	Name   string
	Points []Point   // in any unit
	Edges  [][2]int  // pairs of point indices
	Marks  []float64 // darkness of each point, at most 1; marks ≤ 0 are pale
	Ink    Ink
	Inks   []Ink // ink of each point; nil means Ink for all
}

// Sizes of a plane in pixels: its side, its margin, and the limits of the point size, which
// decreases with the number of points.
const (
	planeSide, planeMargin = 194, 8
	minDot, maxDot         = 2.2, 7
)

// Scene draws the edges and points, scaled equally in both directions to fit into the square.
func (p Plane) Scene() *Scene {
	s := &Scene{Width: planeSide, Height: planeSide, Name: p.Name}
	at := p.scaleInto(planeMargin, planeSide-planeMargin)
	if len(p.Edges) > 0 {
		var lines [][]Point
		for _, e := range p.Edges {
			lines = append(lines, []Point{at[e[0]], at[e[1]]})
		}
		s.add(stroke{lines: lines, ink: FrameInk, width: 1})
	}
	const shades = 5
	dot := min(max(60/math.Sqrt(float64(len(at))), minDot), maxDot)
	var pale [][]Point
	var dark [shades]map[Ink][][]Point
	for i, c := range at {
		square := []Point{{c.X - dot/2, c.Y}, {c.X + dot/2, c.Y}} // a line as long as it is wide
		if p.Marks[i] <= 0 {
			pale = append(pale, square)
			continue
		}
		shade, ink := min(int(p.Marks[i]*shades), shades-1), p.Ink
		if p.Inks != nil {
			ink = p.Inks[i]
		}
		if dark[shade] == nil {
			dark[shade] = map[Ink][][]Point{}
		}
		dark[shade][ink] = append(dark[shade][ink], square)
	}
	if len(pale) > 0 {
		s.add(stroke{lines: pale, ink: FrameInk, width: dot})
	}
	for i, byInk := range dark { // the darkest on top
		for _, ink := range slices.SortedFunc(maps.Keys(byInk),
			func(a, b Ink) int { return cmp.Compare(a.Class, b.Class) }) {
			s.add(stroke{lines: byInk[ink], ink: ink, width: dot, opacity: 0.2 + 0.8*float64(i)/(shades-1)})
		}
	}
	return s
}

// scaleInto returns the points, scaled and centred in the square [from, to] × [from, to].
func (p Plane) scaleInto(from, to float64) []Point {
	low, high := Point{math.Inf(1), math.Inf(1)}, Point{math.Inf(-1), math.Inf(-1)}
	for _, q := range p.Points {
		low = Point{min(low.X, q.X), min(low.Y, q.Y)}
		high = Point{max(high.X, q.X), max(high.Y, q.Y)}
	}
	size := max(high.X-low.X, high.Y-low.Y)
	scale := 0.0 // if all points are equal
	if size > 0 {
		scale = (to - from) / size
	}
	middle := (from + to) / 2
	out := make([]Point, len(p.Points))
	for i, q := range p.Points {
		out[i] = Point{middle + scale*(q.X-(low.X+high.X)/2), middle + scale*(q.Y-(low.Y+high.Y)/2)}
	}
	return out
}
