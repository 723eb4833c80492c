package chart

import "image/color"

// Ink is a colour. A page's style sheet can override the colour of a Class, for instance on a dark
// background. A standalone image uses Color.
type Ink struct {
	Class string
	Color color.RGBA
}

// The inks of axes and text.
var (
	TextInk  = Ink{"ink", color.RGBA{0x2b, 0x34, 0x3f, 0xff}}
	NoteInk  = Ink{"note", color.RGBA{0x5b, 0x66, 0x73, 0xff}}
	GridInk  = Ink{"grid", color.RGBA{0xe3, 0xe7, 0xec, 0xff}}
	FrameInk = Ink{"frame", color.RGBA{0x9a, 0xa4, 0xb1, 0xff}}
)

// palette has colours that are distinguishable on white with normal vision, protanopia,
// deuteranopia and tritanopia, according to the simulation of Machado, Oliveira and Fernandes ("A
// Physiologically-based Model for Simulation of Color Vision Deficiency", 2009). It resembles the
// palette of Okabe and Ito, some of whose colours are too pale for lines on white.
var palette = [...]Ink{
	{"c0", color.RGBA{0x1c, 0x89, 0xee, 0xff}}, // blue
	{"c1", color.RGBA{0xe2, 0x79, 0x05, 0xff}}, // orange
	{"c2", color.RGBA{0x00, 0x62, 0x48, 0xff}}, // green
	{"c3", color.RGBA{0xb0, 0x40, 0x97, 0xff}}, // purple
	{"c4", color.RGBA{0xae, 0x84, 0x4f, 0xff}}, // ochre
	{"c5", color.RGBA{0x08, 0x1f, 0x31, 0xff}}, // black
}

// darkPalette has the colours of the same inks on a dark background.
var darkPalette = [len(palette)]color.RGBA{
	{0x30, 0x83, 0xd6, 0xff}, {0xd0, 0x43, 0x1e, 0xff}, {0x50, 0xf7, 0x9f, 0xff},
	{0xaa, 0x57, 0x73, 0xff}, {0xff, 0xd0, 0x00, 0xff}, {0xd3, 0xe9, 0xff, 0xff},
}

// DarkStyle returns CSS for pages with a dark background.
func DarkStyle() string {
	out := ".ink{color:#c9d1da}.note{color:#98a3b0}.grid{color:#2a323c}.frame{color:#6a7583}"
	for i, p := range palette {
		out += "." + p.Class + "{color:" + hex(darkPalette[i]) + "}"
	}
	return out
}

// Shape is the shape of a point's mark.
type Shape int

// The mark shapes. With None, only a line of one point has a mark.
const (
	None Shape = iota
	Circle
	Square
	Triangle
	Diamond
	Cross
	Wedge
)

// Style distinguishes a line by colour, dashes and mark shape, so the line is recognisable without
// colour.
type Style struct {
	Ink   Ink
	Dash  []float64
	Shape Shape
	Width float64 // pixels; 0 means lineWidth, or paleWidth if Pale is set
	Pale  bool    // draw a translucent line, and by default a thinner one
	Apart bool    // draw all points and no line
}

// dashes are the dash patterns: alternating lengths of dashes and gaps in pixels; nil means a solid line.
var dashes = [...][]float64{nil, {7, 3}, {2, 2.5}, {9, 3, 2, 3}}

// StyleOf returns the n-th style, counted from 0. The first 24 styles differ.
func StyleOf(n int) Style {
	colors := len(palette)
	return Style{Ink: palette[n%colors], Dash: dashes[(n+n/colors)%len(dashes)], Shape: Circle + Shape(n%colors)}
}
