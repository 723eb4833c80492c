// Package chart draws charts: it places axes, labels and lines by the widths that text
// has, so that nothing is cut off and nothing lies over something else, and writes them
// as SVG, by itself or within a page, as PNG or as PDF. All three are the same shapes.
package chart

import (
	"math"
	"sync"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
)

// Point is a place in pixels, from the top left.
type Point struct{ X, Y float64 }

// Scene is a picture: shapes, those that come later over earlier ones.
type Scene struct {
	Width, Height float64
	Name          string // for those who cannot see it
	shapes        []shape
}

// shape is written as SVG and drawn on other canvases.
type shape interface {
	svg(w *svgWriter)
	paint(p *painter)
}

// add adds shapes.
func (s *Scene) add(shapes ...shape) { s.shapes = append(s.shapes, shapes...) }

// stroke is one line or more, each through points.
type stroke struct {
	lines   [][]Point
	ink     Ink
	width   float64
	dash    []float64
	opacity float64 // 0: opaque
	title   string  // shown where one points at it
}

// area is one filled polygon or more.
type area struct {
	lines   [][]Point
	ink     Ink
	opacity float64
	title   string
}

// mark is a point of a line.
type mark struct {
	at    Point
	shape Shape
	ink   Ink
	title string
}

// Anchor is which part of a text is at its place.
type Anchor int

// The anchors.
const (
	Start Anchor = iota
	Middle
	End
)

// text is a line of text; its place is on the base line.
type text struct {
	at     Point
	text   string
	size   float64
	anchor Anchor
	ink    Ink
	bold   bool
}

// Sizes of text in pixels.
const (
	labelSize = 12
	nameSize  = 14
	titleSize = 16
)

// fonts are those that widths are measured with, and that pictures of pixels use. They
// are as wide as Arial and Helvetica.
var fonts = sync.OnceValue(func() *font.Cache { return font.NewCache(liberation.Collection()) })

// face is a font of a size. The bold one has a name of its own: what writes PDF looks for
// its styles in vain.
func face(size float64, bold bool) font.Face {
	f := font.Font{Typeface: "Liberation", Variant: "Sans"}
	if !bold {
		return fonts().Lookup(f, font.Length(size))
	}
	f.Weight = xfont.WeightBold
	out := fonts().Lookup(f, font.Length(size))
	out.Font.Typeface, out.Font.Weight = "LiberationBold", xfont.WeightNormal
	return out
}

// wider is how much more room text gets than it needs in the fonts that an SVG asks for:
// where they are not installed, others stand in for them, such as DejaVu Sans and Verdana.
const wider = 1.22

// widthOf is the room for a text.
func widthOf(text string, size float64, bold bool) float64 {
	f := face(size, bold)
	return wider * float64(f.Width(text))
}

// fit cuts a text that is too long for a width.
func fit(text string, size, width float64, bold bool) string {
	if widthOf(text, size, bold) <= width {
		return text
	}
	runes := []rune(text)
	for n := len(runes) - 1; n > 0; n-- {
		if short := string(runes[:n]) + "…"; widthOf(short, size, bold) <= width {
			return short
		}
	}
	return "…"
}

// markRadius is that of a circle; other shapes have about its area.
const markRadius = 3

// outline is a mark's polygon; a circle has none.
func (m mark) outline() (out []Point) {
	const r = markRadius
	var around [][2]float64
	switch m.shape {
	case Square:
		around = [][2]float64{{-.9, -.9}, {.9, -.9}, {.9, .9}, {-.9, .9}}
	case Triangle:
		around = [][2]float64{{0, -1.3}, {1.2, .85}, {-1.2, .85}}
	case Wedge:
		around = [][2]float64{{0, 1.3}, {1.2, -.85}, {-1.2, -.85}}
	case Diamond:
		around = [][2]float64{{0, -1.35}, {1.35, 0}, {0, 1.35}, {-1.35, 0}}
	case Cross:
		around = [][2]float64{{-1.3, -.8}, {-.8, -1.3}, {0, -.5}, {.8, -1.3}, {1.3, -.8}, {.5, 0}, {1.3, .8}, {.8, 1.3},
			{0, .5}, {-.8, 1.3}, {-1.3, .8}, {-.5, 0}}
	}
	for _, p := range around {
		out = append(out, Point{m.at.X + r*p[0], m.at.Y + r*p[1]})
	}
	return out
}

// circlePoints is a circle as a polygon, for canvases that have none.
func circlePoints(at Point, r float64) (out []Point) {
	const corners = 24
	for i := range corners {
		angle := 2 * math.Pi * float64(i) / corners
		out = append(out, Point{at.X + r*math.Cos(angle), at.Y + r*math.Sin(angle)})
	}
	return out
}
