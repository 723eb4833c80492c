package convert

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestDivide checks that small data sets are stratified by class. Splits must have their fraction of
// the rows, or the minimum size.
func TestDivide(t *testing.T) {
	for _, c := range []struct {
		rows   int
		shares []SplitFraction
		val    float64 // fraction of the train rows of a split column
		want   string  // rows of train, val and test, then rows of class b in them; b is a fifth of all rows
	}{
		{80, nil, 0, "64 8 8, b 12 2 2"},
		{500, nil, 0, "400 50 50, b 80 10 10"},
		{2000, nil, 0, "1800 100 100, b 360 20 20"},
		{10, nil, 0, "8 1 1, b 2 0 0"},
		{80, []SplitFraction{{Split: "train", Fraction: 0.5}, {Split: "val", Fraction: 0.25},
			{Split: "test", Fraction: 0.25}}, 0,
			"40 20 20, b 8 4 4"},
		{80, []SplitFraction{{Split: "train", Fraction: 0.9}, {Split: "val", Fraction: 0.1},
			{Split: "test", Fraction: 0}}, 0,
			"72 8 0, b 14 2 0"},
		{80, []SplitFraction{{Split: "train", Fraction: 0}, {Split: "val", Fraction: 0.5},
			{Split: "test", Fraction: 0.5}}, 0,
			"0 40 40, b 0 8 8"},
		{3, []SplitFraction{{Split: "train", Fraction: 0}, {Split: "val", Fraction: 0}, {Split: "test", Fraction: 1}},
			0, "0 0 3, b 0 0 0"},
		{80, nil, 0.25, "60 20 0, b 12 4 0"},
	} {
		var text strings.Builder
		text.WriteString("text,label,part\n")
		for i := range c.rows {
			fmt.Fprintf(&text, "row %d,%c,train\n", i, "aaaab"[i%5])
		}
		o := textOptions(t, writeFile(t, "a.csv", text.String()))
		o.Label, o.SplitFractions = "label", c.shares
		if c.val > 0 {
			o.SplitColumn, o.Val = "part", c.val
		}
		d, _, err := Convert(context.Background(), o)
		must.Succeed(t, err, c)
		s := d.Manifest.Splits
		got := fmt.Sprintf("%d %d %d, b %d %d %d", s["train"].Rows, s["val"].Rows, s["test"].Rows,
			s["train"].Labels["b"], s["val"].Labels["b"], s["test"].Labels["b"])
		if got != c.want {
			t.Errorf("%+v: got %s, want %s", c, got, c.want)
		}
	}
}
