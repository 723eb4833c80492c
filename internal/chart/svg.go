package chart

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"image/color"
	"io"
	"strconv"
)

// families are the font families of texts: Liberation Sans, which widthOf measures, and fallbacks.
const families = "Liberation Sans, Arial, Helvetica, DejaVu Sans, sans-serif"

// svgWriter is a buffer for SVG elements.
type svgWriter struct{ bytes.Buffer }

// Inline returns the scene as an SVG element for an HTML page. The style sheet of the page may define
// colours for the classes of inks.
func (s *Scene) Inline() template.HTML {
	w := &svgWriter{}
	s.write(w, "")
	return template.HTML(w.String()) // all texts are escaped
}

// WriteSVG writes the scene as a standalone SVG file with a white background.
func (s *Scene) WriteSVG(to io.Writer) error {
	w := &svgWriter{}
	w.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	s.write(w, ` xmlns="http://www.w3.org/2000/svg"`)
	w.WriteByte('\n')
	_, err := to.Write(w.Bytes())
	return err
}

func (s *Scene) write(w *svgWriter, namespace string) {
	fmt.Fprintf(w, `<svg%s class="chart" viewBox="0 0 %s %s" width="%s" height="%s" role="img" aria-label="%s" font-family="%s">`+"\n",
		namespace, number(s.Width), number(s.Height), number(s.Width), number(s.Height),
		html.EscapeString(s.Name), families)
	if namespace != "" {
		fmt.Fprintf(w, `<rect width="%s" height="%s" fill="#ffffff"/>`+"\n", number(s.Width), number(s.Height))
	}
	for _, shape := range s.shapes {
		shape.svg(w)
		w.WriteByte('\n')
	}
	w.WriteString("</svg>")
}

// number formats a number with at most one decimal digit.
func number(v float64) string {
	text := strconv.FormatFloat(v, 'f', 1, 64)
	if n := len(text) - 2; text[n:] == ".0" {
		text = text[:n]
	}
	if text == "-0" {
		return "0"
	}
	return text
}

func hex(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// path returns lines as SVG path data. end follows each line, for example "Z" to close it.
func path(lines [][]Point, end string) string {
	var out bytes.Buffer
	for _, points := range lines {
		for i, p := range points {
			out.WriteByte("ML"[min(i, 1)])
			out.WriteString(number(p.X) + " " + number(p.Y))
		}
		out.WriteString(end)
	}
	return out.String()
}

// attributes returns the class and the colour of an ink as SVG attributes. A CSS rule for the
// class overrides the colour.
func (i Ink) attributes() string { return fmt.Sprintf(`class="%s" color="%s"`, i.Class, hex(i.Color)) }

func opacity(v float64) string {
	if v == 0 || v == 1 {
		return ""
	}
	return fmt.Sprintf(` opacity="%.3g"`, v)
}

// end closes an element. If title is not empty, it is the element's tooltip.
func (w *svgWriter) end(name, title string) {
	if title == "" {
		w.WriteString("/>")
		return
	}
	fmt.Fprintf(w, "><title>%s</title></%s>", html.EscapeString(title), name)
}

func (s stroke) svg(w *svgWriter) {
	fmt.Fprintf(w, `<path %s fill="none" stroke="currentColor" stroke-width="%s" stroke-linejoin="round"`,
		s.ink.attributes(), number(s.width))
	if len(s.dash) > 0 {
		w.WriteString(` stroke-dasharray="`)
		for i, d := range s.dash {
			if i > 0 {
				w.WriteByte(' ')
			}
			w.WriteString(number(d))
		}
		w.WriteByte('"')
	}
	fmt.Fprintf(w, `%s d="%s"`, opacity(s.opacity), path(s.lines, ""))
	w.end("path", s.title)
}

func (a area) svg(w *svgWriter) {
	fmt.Fprintf(w, `<path %s fill="currentColor"%s d="%s"`, a.ink.attributes(), opacity(a.opacity), path(a.lines, "Z"))
	w.end("path", a.title)
}

func (m mark) svg(w *svgWriter) {
	if m.shape != Circle {
		area{[][]Point{m.outline()}, m.ink, 0, m.title}.svg(w)
		return
	}
	fmt.Fprintf(w, `<circle %s fill="currentColor" cx="%s" cy="%s" r="%d"`, m.ink.attributes(), number(m.at.X),
		number(m.at.Y), markRadius)
	w.end("circle", m.title)
}

func (t text) svg(w *svgWriter) {
	fmt.Fprintf(w, `<text %s fill="currentColor" x="%s" y="%s" font-size="%s"`, t.ink.attributes(), number(t.at.X),
		number(t.at.Y), number(t.size))
	if t.anchor != Start {
		fmt.Fprintf(w, ` text-anchor="%s"`, []string{"start", "middle", "end"}[t.anchor])
	}
	if t.bold {
		w.WriteString(` font-weight="bold"`)
	}
	fmt.Fprintf(w, ">%s</text>", html.EscapeString(t.text))
}
