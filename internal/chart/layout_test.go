package chart

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// testScenes returns drawings of charts whose labels are hard to place.
func testScenes() map[string]*Scene {
	line := func(name string, n int, points ...float64) Series {
		s := Series{Name: name, Style: StyleOf(n)}
		for i := 0; i+1 < len(points); i += 2 {
			s.Points = append(s.Points, Datum{X: points[i], Y: points[i+1], Title: "a point"})
		}
		return s
	}
	long := strings.Repeat("a name that goes on and on, ", 20)
	out := map[string]*Scene{}
	add := func(name string, charts ...Chart) {
		for i := range charts {
			if charts[i].Width == 0 {
				charts[i].Width, charts[i].Height = 340, 240
			}
		}
		out[name] = Figure{Title: name, Charts: charts}.Scene()
		out[name+", alone"] = charts[0].Scene()
	}
	steps := Axis{Label: "step", Zero: true}
	add("steps to a round number", Chart{Name: "Loss", X: steps, Y: Axis{Label: "cross-entropy (nats)"},
		Series: []Series{line("one", 0, 1, 2.1, 5000, 0.3, 100000, 0.2)}})
	add("one point", Chart{X: steps, Y: Axis{Label: "norm"}, Series: []Series{line("one", 0, 7, 3)}})
	add("nothing", Chart{X: steps, Y: Axis{Label: "norm"}})
	add("small numbers", Chart{X: steps, Y: Axis{Label: "learning rate"},
		Series: []Series{line("one", 0, 1, 1.234e-7, 123456789, 9.87e-8)}})
	add("narrow labels on the left", Chart{X: Axis{Label: "tokens", Low: 1000000, High: 1999999},
		Y: Axis{Label: "%", Low: 0, High: 9}, Series: []Series{line("", 0, 1e6, 1, 1.9e6, 8)}})
	add("logarithmic", Chart{X: Axis{Label: "length (tokens)", Logarithmic: true},
		Y: Axis{Label: "rows (%)", Zero: true}, Series: []Series{line("train", 0, 1, 0, 1000000, 8)}},
		Chart{X: Axis{Label: "length (tokens)", Logarithmic: true}, Y: Axis{Label: "norm", Logarithmic: true},
			Series: []Series{line("val", 1, 500, 1e-3, 640, 1e6)}})
	var ticks []Tick
	for _, n := range []int{16, 32, 64, 1000, 1024, 1048576, 1048577, 16777216} {
		ticks = append(ticks, Tick{Value: float64(n), Label: fmt.Sprint(n)})
	}
	add("many ticks", Chart{X: Axis{Label: "length (tokens)", Logarithmic: true, Ticks: ticks},
		Y: Axis{Label: "tokens/s", Zero: true}, Series: []Series{line("a", 0, 16, 1, 16777216, 1e6)}})
	var many []Series
	for i := range 60 {
		many = append(many, line(fmt.Sprintf("runs/some/seed-%d, validation", i), i, 0, float64(i), 10, 1))
	}
	many = append(many, line(long, 3, 0, 0, 10, 10))
	add("many lines", Chart{Name: long, X: Axis{Label: long}, Y: Axis{Label: long}, Series: many})
	var boxes []Box
	ticks = nil
	for i := range 5 {
		ticks = append(ticks, Tick{Value: float64(i) + .5,
			Label: fmt.Sprintf("%d–%d", i*10000, i*10000+9999), Note: "1234567 rows"})
		for j := range 3 {
			left := float64(i) + float64(j)/3
			boxes = append(boxes, Box{From: left, To: left + .3, Value: 100, Ink: palette[j], Label: "100.0"})
		}
	}
	add("bars", Chart{Width: 620, Height: 280, X: Axis{Label: "length (tokens)", Low: 0, High: 5, Ticks: ticks},
		Y: Axis{Label: "accuracy (%)"}, Boxes: boxes})
	out["strip"] = Strip{Name: "strip", Length: 100001, Rows: []StripRow{
		{Name: "tokens", Ink: NoteInk, Levels: make([]float64, 100001)},
		{Name: "layer 12", Ink: TextInk, Marks: []StripMark{{0, 1}, {100000, 0}}},
		{Name: "pooling", Ink: TextInk, Weights: make([]float64, 100001)}}}.Scene()
	return out
}

func texts(s *Scene) (out []text) {
	for _, shape := range s.shapes {
		if t, ok := shape.(text); ok {
			out = append(out, t)
		}
	}
	return out
}

// box is the bounding box of a text, with tolerance for wider fonts.
type box struct{ left, top, right, bottom float64 }

func (t text) box() box {
	width := widthOf(t.text, t.size, t.bold)
	left := t.at.X - width*float64(t.anchor)/2
	return box{left, t.at.Y - 0.8*t.size, left + width, t.at.Y + 0.22*t.size}
}

// apart reports whether boxes b and c are separated, horizontally by at least gap.
func (b box) apart(c box, gap float64) bool {
	return b.right+gap <= c.left || c.right+gap <= b.left || b.bottom <= c.top || c.bottom <= b.top
}

// TestLabels checks that texts and marks lie within the figure, and that texts overlap neither other texts
// nor lines, except grid lines.
func TestLabels(t *testing.T) {
	for name, s := range testScenes() {
		all := texts(s)
		if len(all) < 4 {
			t.Errorf("%s: got %d texts, want at least 4", name, len(all))
		}
		for i, a := range all {
			b := a.box()
			if b.left < 0 || b.top < 0 || b.right > s.Width || b.bottom > s.Height {
				t.Errorf("%s: %q at %+v is outside the figure of %v × %v", name, a.text, b, s.Width, s.Height)
			}
			for _, other := range all[:i] {
				if !b.apart(other.box(), 0) {
					t.Errorf("%s: %q lies over %q", name, a.text, other.text)
				}
			}
			for _, shape := range s.shapes {
				if l, ok := shape.(stroke); ok && l.ink != GridInk && crosses(l, b) {
					t.Errorf("%s: %q at %+v lies over the line %v", name, a.text, b, l.lines)
				}
			}
		}
		for _, shape := range s.shapes {
			m, ok := shape.(mark)
			if ok && !(m.at.X >= markRadius && m.at.X <= s.Width-markRadius+1 && m.at.Y >= markRadius &&
				m.at.Y <= s.Height-markRadius) {
				t.Errorf("%s: got a mark at %v, want X from %v to %v and Y from %v to %v", name, m.at, markRadius,
					s.Width-markRadius+1, markRadius, s.Height-markRadius)
			}
		}
	}
}

// crosses reports whether a line crosses a box, by sampling many of its points.
func crosses(l stroke, b box) bool {
	for _, points := range l.lines {
		for i := range len(points) - 1 {
			for step := range 101 {
				part := float64(step) / 100
				x, y := points[i].X+part*(points[i+1].X-points[i].X), points[i].Y+part*(points[i+1].Y-points[i].Y)
				if x > b.left && x < b.right && y > b.top && y < b.bottom {
					return true
				}
			}
		}
	}
	return false
}

// TestAxisLabelsOnce checks that a chart has each axis label exactly once.
func TestAxisLabelsOnce(t *testing.T) {
	s := Chart{X: Axis{Label: "step"}, Y: Axis{Label: "norm"}, Width: 300, Height: 200,
		Series: []Series{{Name: "a", Points: []Datum{{X: 0, Y: 1}, {X: 9, Y: 2}}}}}.Scene()
	found := map[string]int{}
	for _, v := range texts(s) {
		found[v.text]++
	}
	for label, n := range found {
		if n != 1 && (label == "step" || label == "norm") {
			t.Errorf("%q occurs %d times, want once", label, n)
		}
	}
	if found["step"] != 1 || found["norm"] != 1 || found["a"] != 0 {
		t.Errorf("got labels %v, want step and norm once, and a not at all", found)
	}
}

// TestPointPositions checks that points are at the positions that the axes indicate.
func TestPointPositions(t *testing.T) {
	for _, logarithmic := range []bool{false, true} {
		c := Chart{X: Axis{Label: "x", Low: 1, High: 100, Logarithmic: logarithmic},
			Y: Axis{Label: "y", Low: 0, High: 1}, Width: 400, Height: 300,
			Series: []Series{{Style: StyleOf(0), Points: []Datum{{X: 1, Y: 0}, {X: 10, Y: .5}, {X: 100, Y: 1}}}}}
		f := c.layout(Point{})
		want := []Point{{f.left, f.bottom}, {f.left + (f.right-f.left)*9/99, (f.top + f.bottom) / 2}, {f.right, f.top}}
		if logarithmic {
			want[1].X = (f.left + f.right) / 2
		}
		var got []Point
		for _, shape := range c.Scene().shapes {
			if m, ok := shape.(mark); ok {
				got = append(got, m.at)
			}
		}
		if !slices.EqualFunc(got, want, func(a, b Point) bool { return math.Hypot(a.X-b.X, a.Y-b.Y) < 1e-6 }) {
			t.Errorf("logarithmic %v: got %v, want %v", logarithmic, got, want)
		}
	}
}

// TestSVG checks that the output is well-formed if names and labels contain markup, and that only a
// standalone file has a white background.
func TestSVG(t *testing.T) {
	const hostile = `<script>"&'</script>`
	s := Figure{Title: hostile,
		Charts: []Chart{{Name: hostile, X: Axis{Label: hostile}, Y: Axis{Label: hostile}, Width: 400, Height: 300,
			Series: []Series{{Name: hostile, Style: StyleOf(0), Points: []Datum{{X: 1, Y: 2, Title: hostile},
				{X: 2, Y: 3}}}}}}}.Scene()
	var out bytes.Buffer
	must.Succeed(t, s.Write(&out, "svg"))
	text, elements := "", map[string]int{}
	for d := xml.NewDecoder(bytes.NewReader(out.Bytes())); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		must.Succeed(t, err)
		switch e := token.(type) {
		case xml.StartElement:
			elements[e.Name.Local]++
		case xml.CharData:
			text += string(e)
		}
	}
	// hostile occurs in the title, the chart's name, two axes, the legend, and the tooltips of the
	// line and of a point.
	if n := strings.Count(text, hostile); n != 7 || elements["script"] != 0 || elements["rect"] != 1 {
		t.Errorf("got the text %d times and elements %v, want 7 times, one rect and no script", n, elements)
	}
	if inline := string(s.Inline()); strings.Contains(inline, "<rect") || strings.Contains(inline, "<?xml") {
		t.Error("inline SVG has parts of a standalone file")
	}
}

// TestFormats checks that PNG output has the size of the scene, and that PDF output has the header of a
// PDF.
func TestFormats(t *testing.T) {
	for name, s := range testScenes() {
		var out bytes.Buffer
		must.Succeed(t, s.Write(&out, "png"))
		img := must.Get(png.Decode(&out))(t)
		if size := img.Bounds().Size(); math.Abs(float64(size.X)-dotsPerPixel*s.Width) > 2 ||
			math.Abs(float64(size.Y)-dotsPerPixel*s.Height) > 2 {
			t.Errorf("%s: got %v dots, want (%v,%v), each ± 2", name, size, dotsPerPixel*s.Width, dotsPerPixel*s.Height)
		}
		out.Reset()
		if err := s.Write(&out, "pdf"); err != nil || !bytes.HasPrefix(out.Bytes(), []byte("%PDF-")) {
			t.Errorf("%s: got %.10q, %v, want a PDF", name, out.Bytes(), err)
		}
	}
	if FormatOf("a/b.PNG") != "png" || FormatOf("a.gif") != "" || FormatOf("svg") != "" {
		t.Errorf("FormatOf of a/b.PNG, a.gif, svg = %q, %q, %q, want png and twice nothing", FormatOf("a/b.PNG"),
			FormatOf("a.gif"), FormatOf("svg"))
	}
	must.Fail(t, "", `chart format "gif": expected svg, png or pdf`)((&Scene{}).Write(io.Discard, "gif"))
}
