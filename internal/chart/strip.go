package chart

import "slices"

// Strip shows properties of the positions of a sequence, one property per row.
type Strip struct {
	Name   string
	Length int // length of the sequence
	Rows   []StripRow
}

// StripRow is a row of a strip. Levels are drawn as a band between the minimum and the maximum of
// each bin, Weights as bars, and Marks as ticks. Exactly one of the three is set.
type StripRow struct {
	Name    string
	Ink     Ink
	Levels  []float64   // per position
	Weights []float64   // per position, nonnegative
	Marks   []StripMark // for some positions
}

// StripMark is a marked position.
type StripMark struct {
	At       int
	Darkness float64 // from 0 to 1
}

// Sizes in pixels, and the maximum number of bins.
const (
	stripWidth, stripLeft, stripRight = 1040, 66, 1016
	stripArea, stripTick, stripGap    = 46, 18, 8
	maxBins                           = 481 // about one bin per two pixels
)

// Scene draws the strip.
func (t Strip) Scene() *Scene {
	s := &Scene{Width: stripWidth, Name: t.Name}
	positions := Axis{Label: "position (tokens)"}
	x := Scale{Low: 0, High: max(1, float64(t.Length-1)), From: t.at(0), To: t.at(max(1, t.Length-1))}
	var rows []shape
	y := 4.0
	for _, r := range t.Rows {
		height := float64(stripArea)
		switch {
		case r.Levels != nil:
			rows = append(rows, area{lines: t.band(r.Levels, y), ink: r.Ink})
		case r.Weights != nil:
			rows = append(rows, area{lines: t.columns(r.Weights, y), ink: r.Ink})
		default:
			height = stripTick
			rows = append(rows, t.marks(r, y)...)
		}
		rows = append(rows, text{Point{stripLeft - textGap, y + height/2 + 4}, truncateText(r.Name, labelSize,
			stripLeft-textGap,
			false), labelSize, End, TextInk, false})
		y += height + stripGap
	}
	y -= stripGap - 4
	for _, l := range positions.visibleTicks(x) {
		s.add(stroke{lines: [][]Point{{{l.At, 0}, {l.At, y}}}, ink: GridInk, width: 1},
			text{Point{l.At, y + labelRoom}, l.Label, labelSize, Middle, TextInk, false})
	}
	s.add(rows...)
	s.add(stroke{lines: [][]Point{{{stripLeft, y}, {stripRight, y}}}, ink: FrameInk, width: 1},
		text{Point{stripRight, y + 2*lineRoom + 2}, positions.Label, labelSize, End, NoteInk, false})
	s.Height = y + 2*lineRoom + 8
	return s
}

// at returns the x coordinate of the middle of a position.
func (t *Strip) at(position int) float64 {
	return stripLeft + (float64(position)+0.5)*t.positionWidth()
}

// positionWidth returns the width of a position in pixels.
func (t *Strip) positionWidth() float64 {
	return float64(stripRight-stripLeft) / float64(max(t.Length, 2))
}

// marks draws the marks of a row, grouped by darkness.
func (t *Strip) marks(r StripRow, y float64) (out []shape) {
	const shades = 5
	var lines [shades][][]Point
	for _, m := range r.Marks {
		shade := min(int(m.Darkness*shades), shades-1)
		lines[shade] = append(lines[shade], []Point{{t.at(m.At), y}, {t.at(m.At), y + stripTick}})
	}
	for i, l := range lines {
		if len(l) > 0 {
			out = append(out, stroke{lines: l, ink: r.Ink, width: 1.6, opacity: 0.2 + 0.8*float64(i)/(shades-1)})
		}
	}
	return out
}

// forEachBin divides the values into bins of nearly equal size, and calls f with each bin and its x range.
func (t *Strip) forEachBin(values []float64, f func(bin []float64, from, to float64)) {
	bins := min(len(values), maxBins)
	for i := range bins {
		first, end := i*len(values)/bins, (i+1)*len(values)/bins
		f(values[first:end], t.at(first)-t.positionWidth()/2, t.at(end-1)+t.positionWidth()/2)
	}
}

// columns returns the outline of a bar chart with one bar per bin. A bar is as high as the bin's maximum.
func (t *Strip) columns(values []float64, y float64) [][]Point {
	largest := max(slices.Max(values), 1e-30)
	out := []Point{{stripLeft, y + stripArea}}
	last := 0.0
	t.forEachBin(values, func(part []float64, from, to float64) {
		top := y + stripArea*(1-max(0, slices.Max(part))/largest)
		out = append(out, Point{from, top}, Point{to, top})
		last = to
	})
	return [][]Point{append(out, Point{last, y + stripArea})}
}

// band returns a rectangle for each bin, from its smallest to its largest value.
func (t *Strip) band(values []float64, y float64) (out [][]Point) {
	low, high := slices.Min(values), slices.Max(values)
	at := func(v float64) float64 { return y + stripArea*(1-(v-low)/max(high-low, 1)) }
	t.forEachBin(values, func(part []float64, from, to float64) {
		top, bottom := at(slices.Max(part)), at(slices.Min(part))
		bottom = max(bottom, top+1)
		out = append(out, []Point{{from, top}, {to, top}, {to, bottom}, {from, bottom}})
	})
	return out
}
