// Package chart draws charts. It places axes, labels and lines by measured text widths, so that
// texts fit and do not overlap. It writes charts as SVG (standalone or inline), PNG or PDF, all
// with the same shapes.
package chart

import (
	"math"
	"sync"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
)

// Point is a position in pixels, from the top left.
type Point struct{ X, Y float64 }

// Scene is a drawing: a list of shapes, drawn in order.
type Scene struct {
	Width, Height float64
	Name          string // for screen readers
	shapes        []shape
}

// shape is a drawing primitive, which can be written as SVG or painted on a canvas.
type shape interface {
	svg(w *svgWriter)
	paint(p *painter)
}

// add appends shapes, which are drawn over the earlier shapes.
func (s *Scene) add(shapes ...shape) { s.shapes = append(s.shapes, shapes...) }

// stroke is one or more polylines.
type stroke struct {
	lines   [][]Point
	ink     Ink
	width   float64
	dash    []float64 // lengths of dashes and gaps in pixels; nil means a solid line
	opacity float64   // 0 means opaque
	title   string    // tooltip
}

// area is one or more filled polygons.
type area struct {
	lines   [][]Point
	ink     Ink
	opacity float64
	title   string
}

// mark is the symbol at a data point.
type mark struct {
	at    Point
	shape Shape
	ink   Ink
	title string
}

// Anchor is the part of a text that lies at its position.
type Anchor int

// The anchors.
const (
	Start Anchor = iota
	Middle
	End
)

// text is a line of text whose position is on the baseline.
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

// fonts holds the fonts for text widths, PNG and PDF. Their characters are as wide as in Arial and
// Helvetica.
var fonts = sync.OnceValue(func() *font.Cache { return font.NewCache(liberation.Collection()) })

// face returns a font of the given size. The bold font has a separate name, because the PDF writer
// does not support styles.
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

// widthFactor is a safety factor for text widths. If the fonts of an SVG are not installed, viewers
// may replace them by wider fonts such as DejaVu Sans and Verdana.
const widthFactor = 1.22

// widthOf returns the width to reserve for a text, in the unit of size.
func widthOf(text string, size float64, bold bool) float64 {
	f := face(size, bold)
	return widthFactor * float64(f.Width(text))
}

// truncateText truncates a text to a width in pixels, and ends a truncated text with an ellipsis.
func truncateText(text string, size, width float64, bold bool) string {
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

// markRadius is the radius of a circle in pixels. Other shapes have about the same area.
const markRadius = 3

// outline returns a mark's polygon, or nil for a circle.
func (m mark) outline() (out []Point) {
	const r = markRadius
	var corners [][2]float64
	switch m.shape {
	case Square:
		corners = [][2]float64{{-.9, -.9}, {.9, -.9}, {.9, .9}, {-.9, .9}}
	case Triangle:
		corners = [][2]float64{{0, -1.3}, {1.2, .85}, {-1.2, .85}}
	case Wedge:
		corners = [][2]float64{{0, 1.3}, {1.2, -.85}, {-1.2, -.85}}
	case Diamond:
		corners = [][2]float64{{0, -1.35}, {1.35, 0}, {0, 1.35}, {-1.35, 0}}
	case Cross:
		corners = [][2]float64{{-1.3, -.8}, {-.8, -1.3}, {0, -.5}, {.8, -1.3}, {1.3, -.8}, {.5, 0}, {1.3, .8}, {.8,
			1.3},
			{0, .5}, {-.8, 1.3}, {-1.3, .8}, {-.5, 0}}
	}
	for _, p := range corners {
		out = append(out, Point{m.at.X + r*p[0], m.at.Y + r*p[1]})
	}
	return out
}

// circlePoints returns a circle as a polygon, for canvases without circles.
func circlePoints(at Point, r float64) (out []Point) {
	const corners = 24
	for i := range corners {
		angle := 2 * math.Pi * float64(i) / corners
		out = append(out, Point{at.X + r*math.Cos(angle), at.Y + r*math.Sin(angle)})
	}
	return out
}
