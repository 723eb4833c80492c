package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"sftseq/sft"
)

func labels(a axis, n int) string {
	var out []string
	for _, t := range a.ticks(n) {
		out = append(out, t.Label)
	}
	return strings.Join(out, " ")
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axis axis
		n    int
		want string
	}{
		{axis{low: 0, high: 60}, 5, "0 20 40 60"},
		{axis{low: 0, high: 13500}, 5, "0 5k 10k"},
		{axis{low: 2.19, high: 2.46}, 5, "2.2 2.3 2.4"},
		{axis{low: 0, high: 0.00021}, 4, "0 0.0001 0.0002"},
		{axis{low: 0, high: 3e-5}, 4, "0 1e-5 2e-5 3e-5"},
		{axis{low: 0.3, high: 700, logarithmic: true}, 5, "1 10 100"},
		{axis{low: 1, high: 90, logarithmic: true}, 5, "1 2 5 10 20 50"},
	} {
		if got := labels(c.axis, c.n); got != c.want {
			t.Errorf("%+v: %s, want %s", c.axis, got, c.want)
		}
	}
	for v, want := range map[float64]string{0: "0", 12345: "12.35k", 1.5e6: "1.5M", 2e9: "2G", 9999.6: "10000", 1e-7: "1e-7", 0.25: "0.25"} {
		if got := short(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

// TestChart: points lie where the axes say, whatever the values are.
func TestChart(t *testing.T) {
	for _, values := range [][]float64{{1, 2, 3}, {0, 0, 0}, {5, 5, 5}, {1}, {1e-3, 1, 1e6}, {-1, 0, 1}} {
		m := &sft.Metrics{}
		for i, v := range values {
			m.Train = append(m.Train, sft.StepReport{Step: 10 * (i + 1), GradNorm: v, Loss: v})
		}
		for _, c := range charts([]Run{{Name: "r", Metrics: m}}) {
			if len(c.X) < 2 || len(c.Y) < 2 {
				t.Errorf("%s of %v: ticks %v %v", c.Name, values, c.X, c.Y)
			}
			if points := len(values); points == 1 && (c.Lines[0].Path != "" || len(c.Lines[0].Dots) != 1) {
				t.Errorf("%s of one point: %+v", c.Name, c.Lines[0])
			}
			for i, command := range strings.FieldsFunc(c.Lines[0].Path, func(r rune) bool { return r == 'M' || r == 'L' }) {
				var x, y float64
				if _, err := fmt.Sscan(command, &x, &y); err != nil {
					t.Fatal(err)
				}
				want := c.Left + (c.Right-c.Left)*float64(i+1)/float64(len(values))
				if math.Abs(x-want) > 0.1 || !(y >= c.Top && y <= c.Bottom) {
					t.Errorf("%s of %v: point %d at %v, %v; want x %v", c.Name, values, i, x, y, want)
				}
			}
			if logarithmic := strings.Contains(c.Unit, "logarithmic"); logarithmic != (c.Name == "Gradient norm" && slices.Max(values) == 1e6) {
				t.Errorf("%s of %v: logarithmic %v", c.Name, values, logarithmic)
			}
		}
	}
}

// TestThin keeps the extremes of a long curve and its order.
func TestThin(t *testing.T) {
	var long []point
	for i := range 10000 {
		long = append(long, point{i, math.Sin(float64(i))})
	}
	long[5003].value, long[7777].value = 9, -9
	short := thin(long)
	if len(short) != mostPoints || !slices.IsSortedFunc(short, func(a, b point) int { return a.step - b.step }) ||
		!slices.Contains(short, long[5003]) || !slices.Contains(short, long[7777]) {
		t.Errorf("%d points", len(short))
	}
	if few := thin(long[:mostPoints]); len(few) != mostPoints || few[1] != long[1] {
		t.Error("a short curve is not left as it is")
	}
}

// TestSpread: an axis is near its values, also where they are one number or nearly one.
func TestSpread(t *testing.T) {
	for _, values := range [][]float64{{0.001, 0.001}, {0}, {-3, -3}, {0.1, math.Nextafter(0.1, 1)}, {1e300, 1e300}, {1, 2, 3}} {
		a := spread(values, 0, 100)
		low, high := slices.Min(values), slices.Max(values)
		size := max(math.Abs(low), math.Abs(high))
		if size == 0 {
			size = 1
		}
		if a.low > low || a.high < high || a.high-a.low > 2*size || !(a.high > a.low) {
			t.Errorf("%v: from %v to %v", values, a.low, a.high)
		}
		if ticks := a.ticks(5); len(ticks) > 11 {
			t.Errorf("%v: %d ticks", values, len(ticks))
		}
	}
}
