package report

import (
	"fmt"
	"slices"
	"strings"

	"sftseq/sft"
)

// strip draws what was read of a sequence over its positions: the weights of the
// pooling, and a row of ticks for each layer's sampled tokens.
type strip struct {
	Width, Height float64
	Left, Right   float64
	Rows          []stripRow
	X             []tick
	Axis          float64 // height of the axis of positions
}

type stripRow struct {
	Name, Color string
	Middle      float64
	Area        string // a filled shape
	Ticks       []stripTicks
}

// stripTicks are the marks of one darkness.
type stripTicks struct {
	Opacity string
	Path    string
}

// Sizes in pixels.
const (
	stripWidth, stripLeft, stripRight = 1040, 66, 1028
	stripArea, stripTick, stripGap    = 46, 18, 8
	mostBins                          = 481 // every second pixel
)

// newStrip draws a sequence; levels are tokens that are numbers, such as a sound's.
func newStrip(tokens []int32, e *sft.Explanation, levels bool) *strip {
	s := &strip{Width: stripWidth, Left: stripLeft, Right: stripRight}
	y := 4.0
	n := len(tokens)
	if levels {
		values := make([]float64, n)
		for i, t := range tokens {
			values[i] = float64(t)
		}
		s.Rows = append(s.Rows, stripRow{Name: "tokens", Color: "#555555", Middle: y + stripArea/2, Area: band(values, slices.Min(values), slices.Max(values), y)})
		y += stripArea + stripGap
	}
	for i := range e.Layers {
		l := &e.Layers[i]
		row := stripRow{Name: fmt.Sprintf("layer %d", i+1), Color: hex(sampledColor), Middle: y + stripTick/2}
		row.Ticks = ticksOf(l, n, y)
		s.Rows = append(s.Rows, row)
		y += stripTick + stripGap
	}
	weights := make([]float64, n)
	for i, w := range e.Pooling {
		weights[i] = float64(w)
	}
	s.Rows = append(s.Rows, stripRow{Name: "pooling", Color: hex(poolingColor), Middle: y + stripArea/2, Area: columns(weights, y)})
	y += stripArea + 4
	s.Axis, s.Height = y, y+34
	s.X = axis{low: 0, high: max(1, float64(n-1)), from: stripAt(0, n), to: stripAt(max(1, n-1), n)}.ticks(8)
	return s
}

// stripAt is the middle of a position's place.
func stripAt(position, n int) float64 {
	return stripLeft + (float64(position)+0.5)/float64(max(n, 2))*(stripRight-stripLeft)
}

// ticksOf are a layer's sampled tokens, the darker the more mass they received.
func ticksOf(l *sft.LayerExplanation, n int, y float64) []stripTicks {
	const shades = 5
	var paths [shades]strings.Builder
	for i, at := range l.Positions {
		shade := min(int(share(l, i)*shades), shades-1)
		fmt.Fprintf(&paths[shade], "M%.1f %.0fv%d", stripAt(int(at), n), y, stripTick)
	}
	var out []stripTicks
	for i := range paths {
		if paths[i].Len() > 0 {
			out = append(out, stripTicks{Opacity: fmt.Sprintf("%.2f", 0.2+0.8*float64(i)/(shades-1)), Path: paths[i].String()})
		}
	}
	return out
}

// eachBin calls f with equal parts of a sequence and where they lie.
func eachBin(values []float64, f func(part []float64, from, to float64)) {
	bins := min(len(values), mostBins)
	for i := range bins {
		first, end := i*len(values)/bins, (i+1)*len(values)/bins
		f(values[first:end], stripAt(first, len(values))-0.5*stripPlace(len(values)), stripAt(end-1, len(values))+0.5*stripPlace(len(values)))
	}
}

// stripPlace is the width of a position's place.
func stripPlace(n int) float64 { return float64(stripRight-stripLeft) / float64(max(n, 2)) }

// columns draws the largest value of each bin from 0 up.
func columns(values []float64, y float64) string {
	largest := max(slices.Max(values), 1e-30)
	var out strings.Builder
	fmt.Fprintf(&out, "M%.1f %.1f", stripAt(0, len(values))-0.5*stripPlace(len(values)), y+stripArea)
	eachBin(values, func(part []float64, from, to float64) {
		fmt.Fprintf(&out, "L%.1f %.1fH%.1f", from, y+stripArea*(1-slices.Max(part)/largest), to)
	})
	fmt.Fprintf(&out, "V%.1fZ", y+stripArea)
	return out.String()
}

// band draws from the least to the largest value of each bin.
func band(values []float64, low, high, y float64) string {
	at := func(v float64) float64 { return y + stripArea*(1-(v-low)/max(high-low, 1)) }
	var out strings.Builder
	eachBin(values, func(part []float64, from, to float64) {
		top, bottom := at(slices.Max(part)), at(slices.Min(part))
		fmt.Fprintf(&out, "M%.1f %.1fH%.1fV%.1fH%.1fZ", from, top, to, max(bottom, top+1), from)
	})
	return out.String()
}
