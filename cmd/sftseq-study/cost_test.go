package main

import (
	"math"
	"testing"
)

// TestCost checks that the formulas reproduce the numbers in the paper, except for sampling and the
// remainder, with an error of less than one unit of the last printed digit.
func TestCost(t *testing.T) {
	for _, row := range []struct {
		sampled                  int
		k, c, relative, errorOfC float64 // in 10⁹
	}{{1024, 0.268, 0.016, 0.268, 1e-3}, {512, 0.134, 0.0084, 0.134, 6e-5}, {256, 0.067, 0.0042, 0.067, 6e-5},
		{128, 0.034, 0.0021, 0.034, 6e-5}, {64, 0.017, 0.0011, 0.017, 6e-5}} {
		printed := map[string]float64{"Q": 0.268, "W_cat": 0.268, "K": row.k, "V": row.k, "C": row.c,
			"relative": row.relative, "MLP": 2.2}
		for _, part := range costParts {
			want, ok := printed[part.name]
			if ok != part.matchesPaper {
				t.Errorf("%s: matchesPaper is %v, want %v", part.name, part.matchesPaper, ok)
			}
			maxError := 5e-4
			switch part.name {
			case "C":
				maxError = row.errorOfC
			case "MLP":
				maxError = 0.06
			}
			if got := part.paper(1024, float64(row.sampled), 256, 16) / 1e9; ok && math.Abs(got-want) > maxError {
				t.Errorf("%d sampled, %s: got %v·10⁹ operations, want %v·10⁹ as in the paper", row.sampled, part.name,
					got, want)
			}
			// The table does not print the score and the weighted sum, 1.07·10⁹ operations each.
			if got := part.operations(1024, 1024, 256, 16) / 1e9; part.name == "maxout and PV" &&
				math.Abs(got-2*1.0737) > 1e-3 {
				t.Errorf("score and weighted sum: got %v·10⁹ operations, want 2.1474·10⁹", got)
			}
		}
	}
}
