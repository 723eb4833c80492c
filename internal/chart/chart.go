package chart

import (
	"math"
	"slices"
)

// Chart is what is drawn over two axes.
type Chart struct {
	Name          string // above it; may be empty
	X, Y          Axis
	Series        []Series
	Boxes         []Box
	Width, Height float64
}

// Axis is one of them.
type Axis struct {
	Label       string // what it measures, and its unit
	Logarithmic bool
	Zero        bool    // it begins at 0
	Low, High   float64 // its ends, unless these are equal
	Places      []Place // what it names in place of round values
}

// Place is a value that an axis names.
type Place struct {
	At          float64
	Label, Note string // the note is below the label
}

// Series is a line.
type Series struct {
	Name string // in the legend; empty: not there
	Style
	Points []Datum
}

// Datum is a point of a line in the values of its axes.
type Datum struct {
	X, Y  float64
	Title string // shown where one points at its mark
}

// Box is a bar from 0 up to a value.
type Box struct {
	From, To, Value float64
	Ink             Ink
	Label           string // above it, where there is room
	Title           string
	Pale            bool
}

// frame is where the field of a chart is.
type frame struct {
	left, right, top, bottom float64
	x, y                     Scale
	xTicks, yTicks           []tick
}

// Room around text in pixels.
const (
	textGap   = 8 // between labels beside each other
	tickGap   = 6 // between an axis and its labels
	lineRoom  = 16
	nameRoom  = 22
	labelRoom = 17 // from the x axis to the base line of its labels
)

// Scene draws the chart alone, without a legend.
func (c Chart) Scene() *Scene {
	s := &Scene{Width: c.Width, Height: c.Height, Name: c.description()}
	c.draw(s, Point{})
	return s
}

// description is what is said of it to those who cannot see it.
func (c *Chart) description() string {
	name := c.Name
	if name == "" {
		name = c.Y.Label
	}
	return name + " over " + c.X.Label
}

// draw adds the chart's shapes to a scene, from its top left corner on.
func (c *Chart) draw(s *Scene, at Point) {
	c.dropUndrawable()
	f := c.layout(at)
	if c.Name != "" {
		s.add(text{Point{at.X, at.Y + nameSize}, fit(c.Name, nameSize, c.Width, true), nameSize, Start, TextInk, true})
	}
	s.add(text{Point{at.X, f.top - 10}, fit(c.Y.Label, labelSize, c.Width, false), labelSize, Start, NoteInk, false})
	for _, t := range f.yTicks {
		s.add(stroke{lines: [][]Point{{{f.left, t.At}, {f.right, t.At}}}, ink: GridInk, width: 1},
			text{Point{f.left - tickGap, t.At + 4}, t.Label, labelSize, End, TextInk, false})
	}
	for _, t := range f.xTicks {
		if len(c.Boxes) == 0 || len(c.X.Places) == 0 {
			s.add(stroke{lines: [][]Point{{{t.At, f.top}, {t.At, f.bottom}}}, ink: GridInk, width: 1})
		}
		if t.Label != "" {
			s.add(text{Point{t.At, f.bottom + labelRoom}, t.Label, labelSize, Middle, TextInk, false})
		}
		if t.Note != "" {
			s.add(text{Point{t.At, f.bottom + labelRoom + lineRoom}, t.Note, labelSize, Middle, NoteInk, false})
		}
	}
	c.drawBoxes(s, f)
	s.add(stroke{lines: [][]Point{{{f.left, f.top}, {f.left, f.bottom}, {f.right, f.bottom}}}, ink: FrameInk, width: 1})
	for _, l := range c.Series {
		l.draw(s, f)
	}
	s.add(text{Point{(f.left + f.right) / 2, at.Y + c.Height - 6}, fit(c.X.Label, labelSize, f.right-f.left, false),
		labelSize, Middle, NoteInk, false})
}

// largest is what an axis can have at most: sums and differences of such values are finite.
const largest = 1e300

// dropUndrawable leaves out points that have no place on an axis: values come from files,
// and an axis that is not finite has no ticks.
func (c *Chart) dropUndrawable() {
	drawable := func(v float64) bool { return math.Abs(v) <= largest } // false of NaN, too
	c.Series = slices.Clone(c.Series)
	for i := range c.Series {
		c.Series[i].Points = slices.DeleteFunc(slices.Clone(c.Series[i].Points),
			func(p Datum) bool { return !drawable(p.X) || !drawable(p.Y) })
	}
}

// layout finds room for the labels, and the field is what is left.
func (c *Chart) layout(at Point) frame {
	f := frame{top: at.Y + lineRoom + 8, bottom: at.Y + c.Height - 2*lineRoom - 10}
	if c.Name != "" {
		f.top += nameRoom
	}
	if slices.ContainsFunc(c.X.Places, func(p Place) bool { return p.Note != "" }) {
		f.bottom -= lineRoom
	}
	xValues, yValues := c.values()
	f.y = c.Y.scale(yValues, c.Y.Zero || len(c.Boxes) > 0)
	f.y.From, f.y.To = f.bottom, f.top
	if slices.ContainsFunc(c.Boxes, func(b Box) bool { return b.Label != "" }) { // above the highest box
		f.y.High += (f.y.High - f.y.Low) * 18 / (f.bottom - f.top)
	}
	f.yTicks = c.Y.ticks(f.y, max(3, int((f.bottom-f.top)/30)))
	widest := 0.0
	for _, t := range f.yTicks {
		widest = max(widest, widthOf(t.Label, labelSize, false))
	}
	f.x = c.X.scale(xValues, c.X.Zero)
	left, right := widest+tickGap, 0.0
	for range 2 { // what is at the ends of the axis needs room beside it
		f.left, f.right = at.X+left, at.X+c.Width-right-2
		f.x.From, f.x.To = f.left, f.right
		f.xTicks = c.X.places(f.x)
		first, last := f.xTicks[0], f.xTicks[len(f.xTicks)-1]
		left = max(left, left+half(first)-(first.At-at.X)+1)
		right = max(0, half(last)-(f.right-last.At)+1)
	}
	f.left, f.right = at.X+left, at.X+c.Width-right-2
	f.x.From, f.x.To = f.left, f.right
	f.xTicks = c.X.places(f.x)
	return f
}

func half(t tick) float64 {
	return max(widthOf(t.Label, labelSize, false), widthOf(t.Note, labelSize, false)) / 2
}

// ticks are about n values with labels.
func (a *Axis) ticks(s Scale, n int) []tick {
	if len(a.Places) == 0 {
		return s.ticks(n)
	}
	var out []tick
	for _, p := range a.Places {
		out = append(out, tick{s.At(p.At), p.Label, p.Note})
	}
	return out
}

// places are the labels of the x axis, no two over each other: of round values so many
// that all fit, of given ones those that fit.
func (a *Axis) places(s Scale) []tick {
	if len(a.Places) == 0 && !a.Logarithmic {
		for n := max(2, int((s.To-s.From)/60)); ; n-- {
			if out := s.ticks(n); n == 2 || !crowded(out) {
				return out
			}
		}
	}
	out := a.ticks(s, 2)
	last := -1
	for i := range out {
		if last >= 0 && crowded([]tick{out[last], out[i]}) {
			out[i].Label, out[i].Note = "", ""
			continue
		}
		last = i
	}
	return out
}

// crowded reports whether labels beside each other have no gap.
func crowded(labels []tick) bool {
	for i := range len(labels) - 1 {
		if math.Abs(labels[i+1].At-labels[i].At) < half(labels[i])+half(labels[i+1])+textGap {
			return true
		}
	}
	return false
}

// scale is an axis that has room for values.
func (a *Axis) scale(values []float64, zero bool) Scale {
	if a.Low != a.High {
		return Scale{Low: a.Low, High: a.High, Logarithmic: a.Logarithmic}
	}
	if len(values) == 0 {
		values = []float64{0, 1}
	}
	low, high := slices.Min(values), slices.Max(values)
	if a.Logarithmic && low >= 1/largest {
		margin := max(math.Pow(high/low, 0.02), 1.05)
		return Scale{Low: low / margin, High: high * margin, Logarithmic: true}
	}
	s := spread(values, 0, 0)
	if zero {
		s.Low = min(0, low)
	}
	return s
}

// values are those that the axes have room for.
func (c *Chart) values() (x, y []float64) {
	for _, l := range c.Series {
		for _, p := range l.Points {
			x, y = append(x, p.X), append(y, p.Y)
		}
	}
	for _, b := range c.Boxes {
		x, y = append(x, b.From, b.To), append(y, b.Value)
	}
	return x, y
}
