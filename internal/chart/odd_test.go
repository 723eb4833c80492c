package chart

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestUnusualValues checks that charts of extreme, equal, infinite or no values have finite coordinates,
// and that drawing terminates and does not change the points.
func TestUnusualValues(t *testing.T) {
	for _, values := range [][]float64{{}, {0}, {-3}, {1e-320}, {-1e-320}, {0, 1e-320}, {1e308}, {1e308, -1e308},
		{1e300, 1e299}, {math.NaN()}, {math.Inf(1), 1},
		{1, math.NaN(), 2}, {5, 5, 5}, {1e16, 1e16 + 2}, {1e-9, 1}, {0, 1e-300}, {0.1 + 0.2, 0.3}, {1, 1 + 1e-8}} {
		for mode := range 4 {
			y := Axis{Label: "y", Logarithmic: mode&1 != 0, Zero: mode&2 != 0}
			s := Series{Name: strings.Repeat("long name ", 40), Style: StyleOf(0)}
			for i, v := range values {
				s.Points = append(s.Points, Datum{X: float64(i), Y: v})
			}
			var out bytes.Buffer
			before := fmt.Sprint(s.Points)
			c := Chart{Name: "name", X: Axis{Label: "x", Zero: true}, Y: y, Width: 340,
				Height: 240, Series: []Series{s}}
			must.Check(t, (Figure{Charts: []Chart{c}}).Scene().Write(&out, "svg"))
			if text := out.String(); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
				t.Errorf("%v on %+v: got NaN or Inf in %s", values, y, text)
			}
			if fmt.Sprint(s.Points) != before {
				t.Errorf("%v: drawing changed the chart's points", values)
			}
		}
	}
}
