package chart

import (
	"cmp"
	"math"
	"slices"
)

// Chart is a diagram over two axes.
type Chart struct {
	Name          string // title above the chart; may be empty
	X, Y          Axis
	Series        []Series
	Boxes         []Box
	Width, Height float64 // pixels
}

// Axis is an axis of a chart.
type Axis struct {
	Label       string // quantity and unit
	Logarithmic bool
	Zero        bool    // include 0 in a linear scale
	Low, High   float64 // limits; if they are equal, the limits follow from the values
	Ticks       []Tick  // labelled values that replace the automatic ticks
}

// Tick is a labelled value of an axis.
type Tick struct {
	Value       float64
	Label, Note string // the note is drawn below the label
}

// Series is a line of a chart.
type Series struct {
	Name string // "" omits the series from the legend
	Style
	Points []Datum
}

// Datum is a point of a line in axis units.
type Datum struct {
	X, Y  float64
	Title string // tooltip of the point's mark
}

// Box is a bar between From and To on the x axis. It rises from the x axis to Value, which must not be
// negative.
type Box struct {
	From, To, Value float64
	Ink             Ink
	Label           string // above the bar, if there is room
	Title           string // tooltip
	Pale            bool   // draw a translucent bar
}

// frame is the plotting area of a chart.
type frame struct {
	left, right, top, bottom float64
	x, y                     Scale
	xTicks, yTicks           []tick
}

// Spacing around text in pixels.
const (
	textGap   = 8 // between adjacent labels
	tickGap   = 6 // between an axis and its labels
	lineRoom  = 16
	nameRoom  = 22
	labelRoom = 17 // from the x axis to the baseline of its labels
)

// Scene draws the chart without a legend.
func (c Chart) Scene() *Scene {
	s := &Scene{Width: c.Width, Height: c.Height, Name: c.description()}
	c.draw(s, Point{})
	return s
}

// description returns an alternative text for screen readers.
func (c *Chart) description() string {
	return cmp.Or(c.Name, c.Y.Label) + " over " + c.X.Label
}

// draw adds the chart's shapes to a scene, with the chart's top left corner at the given point.
func (c *Chart) draw(s *Scene, at Point) {
	c.dropUndrawable()
	f := c.layout(at)
	if c.Name != "" {
		s.add(text{Point{at.X, at.Y + nameSize}, truncateText(c.Name, nameSize, c.Width, true), nameSize, Start,
			TextInk, true})
	}
	s.add(text{Point{at.X, f.top - 10}, truncateText(c.Y.Label, labelSize, c.Width, false), labelSize, Start,
		NoteInk, false})
	for _, t := range f.yTicks {
		s.add(stroke{lines: [][]Point{{{f.left, t.At}, {f.right, t.At}}}, ink: GridInk, width: 1},
			text{Point{f.left - tickGap, t.At + 4}, t.Label, labelSize, End, TextInk, false})
	}
	for _, t := range f.xTicks {
		if len(c.Boxes) == 0 || len(c.X.Ticks) == 0 {
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
	s.add(text{Point{(f.left + f.right) / 2, at.Y + c.Height - 6}, truncateText(c.X.Label, labelSize,
		f.right-f.left, false),
		labelSize, Middle, NoteInk, false})
}

// maxValue is the maximum absolute value of an axis. Sums and differences of such values are
// finite.
const maxValue = 1e300

// dropUndrawable removes points that an axis cannot show. Values come from files, and an infinite
// axis has no ticks.
func (c *Chart) dropUndrawable() {
	drawable := func(v float64) bool { return math.Abs(v) <= maxValue } // false for NaN, too
	c.Series = slices.Clone(c.Series)
	for i := range c.Series {
		c.Series[i].Points = slices.DeleteFunc(slices.Clone(c.Series[i].Points),
			func(p Datum) bool { return !drawable(p.X) || !drawable(p.Y) })
	}
}

// layout reserves space for the labels and returns the remaining plotting area.
func (c *Chart) layout(at Point) frame {
	f := frame{top: at.Y + lineRoom + 8, bottom: at.Y + c.Height - 2*lineRoom - 10}
	if c.Name != "" {
		f.top += nameRoom
	}
	if slices.ContainsFunc(c.X.Ticks, func(p Tick) bool { return p.Note != "" }) {
		f.bottom -= lineRoom
	}
	xValues, yValues := c.values()
	f.y = c.Y.scale(yValues, c.Y.Zero || len(c.Boxes) > 0)
	f.y.From, f.y.To = f.bottom, f.top
	if slices.ContainsFunc(c.Boxes, func(b Box) bool { return b.Label != "" }) { // room above the highest bar
		f.y.High += (f.y.High - f.y.Low) * 18 / (f.bottom - f.top)
	}
	f.yTicks = c.Y.ticks(f.y, max(3, int((f.bottom-f.top)/30)))
	widest := 0.0
	for _, t := range f.yTicks {
		widest = max(widest, widthOf(t.Label, labelSize, false))
	}
	f.x = c.X.scale(xValues, c.X.Zero)
	left, right := widest+tickGap, 0.0
	for range 2 { // a second pass accounts for labels at the ends of the axis
		f.left, f.right = at.X+left, at.X+c.Width-right-2
		f.x.From, f.x.To = f.left, f.right
		f.xTicks = c.X.visibleTicks(f.x)
		first, last := f.xTicks[0], f.xTicks[len(f.xTicks)-1]
		left = max(left, left+halfWidth(first)-(first.At-at.X)+1)
		right = max(0, halfWidth(last)-(f.right-last.At)+1)
	}
	f.left, f.right = at.X+left, at.X+c.Width-right-2
	f.x.From, f.x.To = f.left, f.right
	f.xTicks = c.X.visibleTicks(f.x)
	return f
}

func halfWidth(t tick) float64 {
	return max(widthOf(t.Label, labelSize, false), widthOf(t.Note, labelSize, false)) / 2
}

// ticks returns the tick marks of the axis: Ticks if set, else about n round values.
func (a *Axis) ticks(s Scale, n int) []tick {
	if len(a.Ticks) == 0 {
		return s.ticks(n)
	}
	var out []tick
	for _, p := range a.Ticks {
		out = append(out, tick{s.At(p.Value), p.Label, p.Note})
	}
	return out
}

// visibleTicks returns the tick marks of the x axis, without overlapping labels: Ticks if set, else
// round values.
func (a *Axis) visibleTicks(s Scale) []tick {
	if len(a.Ticks) == 0 && !a.Logarithmic {
		for n := max(2, int((s.To-s.From)/60)); ; n-- {
			if out := s.ticks(n); n == 2 || !overlap(out) {
				return out
			}
		}
	}
	out := a.ticks(s, 2)
	last := -1
	for i := range out {
		if last >= 0 && overlap([]tick{out[last], out[i]}) {
			out[i].Label, out[i].Note = "", ""
			continue
		}
		last = i
	}
	return out
}

// overlap reports whether the gap between adjacent labels is too small.
func overlap(labels []tick) bool {
	for i := range len(labels) - 1 {
		if math.Abs(labels[i+1].At-labels[i].At) < halfWidth(labels[i])+halfWidth(labels[i+1])+textGap {
			return true
		}
	}
	return false
}

// scale returns the scale of the axis. Without limits, the scale includes the values. If zero is set, a
// linear scale also includes 0, without a margin beyond it. Without limits and with values below
// 1/maxValue, the scale of a logarithmic axis is linear.
func (a *Axis) scale(values []float64, zero bool) Scale {
	if a.Low != a.High {
		return Scale{Low: a.Low, High: a.High, Logarithmic: a.Logarithmic}
	}
	if len(values) == 0 {
		values = []float64{0, 1}
	}
	low, high := slices.Min(values), slices.Max(values)
	if a.Logarithmic && low >= 1/maxValue {
		margin := max(math.Pow(high/low, 0.02), 1.05)
		return Scale{Low: low / margin, High: high * margin, Logarithmic: true}
	}
	s := paddedScale(values, 0, 0)
	switch {
	case zero && low >= 0:
		s.Low = 0
	case zero && high <= 0:
		s.High = 0
	}
	return s
}

// values returns the values that the axes must include.
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
