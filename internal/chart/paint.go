package chart

import (
	"cmp"
	"fmt"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/encoding/charmap"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
)

// Formats are the output formats of [Scene.Write]. Each is also a file name extension.
var Formats = []string{"svg", "png", "pdf"}

// FormatOf returns the format of a file name, or "" if its extension is not in [Formats].
func FormatOf(path string) string {
	format := strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), ".")
	if !slices.Contains(Formats, format) {
		return ""
	}
	return format
}

// dotsPerPixel is the resolution of a PNG in dots per pixel of the scene. With two dots, a PNG
// looks as sharp as an SVG on high-resolution screens.
const dotsPerPixel = 2

// Write writes the scene in one of [Formats].
func (s *Scene) Write(w io.Writer, format string) error {
	width, height := length(s.Width), length(s.Height)
	switch format {
	case "svg":
		return s.WriteSVG(w)
	case "png":
		c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dotsPerPixel*96),
			vgimg.UseBackgroundColor(color.White))
		s.paint(c)
		_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
		return err
	case "pdf":
		c := vgpdf.New(width, height)
		s.paint(westernCanvas{c})
		_, err := c.WriteTo(w)
		return err
	}
	return fmt.Errorf("chart format %q: expected %s or %s", format,
		strings.Join(Formats[:len(Formats)-1], ", "), Formats[len(Formats)-1])
}

// painter draws shapes on a canvas whose origin is at the bottom left.
type painter struct {
	vg.Canvas
	height float64
}

// westernCanvas is a PDF canvas whose fonts have only the characters of Windows-1252. Other
// characters become question marks.
type westernCanvas struct{ *vgpdf.Canvas }

func (c westernCanvas) FillString(f font.Face, at vg.Point, text string) {
	out := make([]byte, 0, len(text))
	for _, r := range text {
		b, ok := charmap.Windows1252.EncodeRune(r)
		if !ok {
			b = '?'
		}
		out = append(out, b)
	}
	c.Canvas.FillString(f, at, string(out))
}

// length converts pixels to a length, at 96 pixels per inch.
func length(pixels float64) vg.Length { return vg.Length(pixels) * vg.Inch / 96 }

func (s *Scene) paint(c vg.Canvas) {
	p := &painter{c, s.Height}
	for _, shape := range s.shapes {
		shape.paint(p)
	}
}

func (p *painter) at(q Point) vg.Point { return vg.Point{X: length(q.X), Y: length(p.height - q.Y)} }

// color sets the drawing colour to an ink with the given opacity on white; opacity 0 means opaque.
func (p *painter) color(i Ink, opacity float64) {
	opacity = cmp.Or(opacity, 1)
	mix := func(c uint8) uint8 { return uint8(math.Round(255 + opacity*(float64(c)-255))) }
	p.SetColor(color.RGBA{mix(i.Color.R), mix(i.Color.G), mix(i.Color.B), 0xff})
}

func (p *painter) path(lines [][]Point, closed bool) (out vg.Path) {
	for _, points := range lines {
		for i, q := range points {
			if i == 0 {
				out.Move(p.at(q))
			} else {
				out.Line(p.at(q))
			}
		}
		if closed {
			out.Close()
		}
	}
	return out
}

func (s stroke) paint(p *painter) {
	p.color(s.ink, s.opacity)
	p.SetLineWidth(length(s.width))
	var dash []vg.Length
	for _, d := range s.dash {
		dash = append(dash, length(d))
	}
	p.SetLineDash(dash, 0)
	p.Stroke(p.path(s.lines, false))
}

func (a area) paint(p *painter) {
	p.color(a.ink, a.opacity)
	p.Fill(p.path(a.lines, true))
}

func (m mark) paint(p *painter) {
	outline := m.outline()
	if m.shape == Circle {
		outline = circlePoints(m.at, markRadius)
	}
	area{[][]Point{outline}, m.ink, 0, ""}.paint(p)
}

func (t text) paint(p *painter) {
	f := face(float64(length(t.size)), t.bold)
	at := p.at(t.at)
	at.X -= f.Width(t.text) * vg.Length(t.anchor) / 2
	p.color(t.ink, 0)
	p.FillString(f, at, t.text)
}
