package chart

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func labels(a Scale, n int) string {
	var out []string
	for _, t := range a.ticks(n) {
		out = append(out, t.Label)
	}
	return strings.Join(out, " ")
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		scale Scale
		n     int
		want  string
	}{
		{Scale{Low: 0, High: 60}, 5, "0 20 40 60"},
		{Scale{Low: 0, High: 13500}, 5, "0 5k 10k"},
		{Scale{Low: 2.19, High: 2.46}, 5, "2.2 2.3 2.4"},
		{Scale{Low: 0, High: 0.00021}, 4, "0 0.0001 0.0002"},
		{Scale{Low: 0, High: 3e-5}, 4, "0 1e-5 2e-5 3e-5"},
		{Scale{Low: 0.3, High: 700, Logarithmic: true}, 5, "1 10 100"},
		{Scale{Low: 1, High: 90, Logarithmic: true}, 5, "1 2 5 10 20 50"},
		{Scale{Low: 130, High: 190, Logarithmic: true}, 3, "140 160 180"},
		{Scale{Low: 1.1, High: 1.9}, 1, "1.2 1.4 1.6 1.8"},
	} {
		if got := labels(c.scale, c.n); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.scale, got, c.want)
		}
	}
	for v, want := range map[float64]string{0: "0", 12345: "12.35k", 1.5e6: "1.5M", 2e9: "2G", 9999.6: "10000",
		1e-7: "1e-7", 0.25: "0.25"} {
		if got := Short(v); got != want {
			t.Errorf("%v: got %s, want %s", v, got, want)
		}
	}
}

// TestAxisWithZero checks that an axis includes 0 if this is required. It must have a margin at the end away
// from 0, or at both ends if values lie on both sides of 0.
func TestAxisWithZero(t *testing.T) {
	for _, c := range []struct{ low, high float64 }{{2, 4}, {-4, -2}, {-4, 4}, {0, 0}, {-4, 0}} {
		a := Axis{}
		s := a.scale([]float64{c.low, c.high}, true)
		if c.low >= 0 && (s.Low != 0 || s.High <= c.high) || c.low < 0 && s.Low >= c.low ||
			c.low < 0 && c.high <= 0 && s.High != 0 || c.high > 0 && s.High <= c.high {
			t.Errorf("values from %v to %v: got an axis from %v to %v, want 0 included, and a margin away from 0",
				c.low, c.high, s.Low, s.High)
		}
	}
}

// TestSpread checks that an axis is close to its values, even if they are equal or nearly equal.
func TestSpread(t *testing.T) {
	for _, values := range [][]float64{{0.001, 0.001}, {0}, {-3, -3}, {0.1, math.Nextafter(0.1, 1)},
		{1e300, 1e300}, {1, 2, 3}} {
		a := paddedScale(values, 0, 100)
		low, high := slices.Min(values), slices.Max(values)
		size := max(math.Abs(low), math.Abs(high))
		if size == 0 {
			size = 1
		}
		if a.Low > low || a.High < high || a.High-a.Low > 2*size || !(a.High > a.Low) {
			t.Errorf("%v: got an axis from %v to %v, want one around the values, at most %v long", values, a.Low,
				a.High, 2*size)
		}
		if ticks := a.ticks(5); len(ticks) > 11 {
			t.Errorf("%v: got %d ticks, want at most 11", values, len(ticks))
		}
	}
}

// TestThin checks that thin keeps the extremes, the ends and the order of a long curve.
func TestThin(t *testing.T) {
	var long []Datum
	for i := range 10000 {
		long = append(long, Datum{X: float64(i), Y: math.Sin(float64(i))})
	}
	long[5003].Y, long[7777].Y = 9, -9
	short := thin(long)
	if len(short) != maxPoints || !slices.IsSortedFunc(short, func(a, b Datum) int { return int(a.X - b.X) }) ||
		!slices.Contains(short, long[5003]) || !slices.Contains(short, long[7777]) || short[0] != long[0] ||
		short[len(short)-1] != long[9999] {
		t.Errorf("got %d points, want %d in order, with both ends and both extremes", len(short), maxPoints)
	}
	if few := thin(long[:maxPoints]); len(few) != maxPoints || few[1] != long[1] {
		t.Error("a short curve was changed")
	}
}
