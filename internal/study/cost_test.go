package study

import (
	"math"
	"testing"
)

// TestCost: the counts are the numbers that the paper prints, to the digits that it has.
func TestCost(t *testing.T) {
	for _, row := range []struct {
		sampled                int
		k, c, relative, digits float64 // in 10⁹
	}{{1024, 0.268, 0.016, 0.268, 1e-3}, {512, 0.134, 0.0084, 0.134, 5e-4}, {256, 0.067, 0.0042, 0.067, 5e-4}, {128, 0.034, 0.0021, 0.034, 5e-4}, {64, 0.017, 0.0011, 0.017, 5e-4}} {
		c := Cost{1024, row.sampled, 256, 16}
		for part, want := range map[string]float64{PartQ: 0.268, PartConcat: 0.268, PartK: row.k, PartV: row.k, PartC: row.c, PartRelative: row.relative} {
			if got, ok := c.Paper(part); !ok || math.Abs(got/1e9-want) > row.digits {
				t.Errorf("%d sampled, %s: %v, the paper prints %v", row.sampled, part, got/1e9, want)
			}
		}
		if got, _ := c.Paper(PartMLP); math.Abs(got/1e9-2.2) > 0.06 {
			t.Errorf("MLP: %v, the paper prints 2.2", got/1e9)
		}
		for _, part := range []string{PartSampling, PartRemainder, PartScores} {
			if _, ok := c.Paper(part); ok {
				t.Errorf("%s has a count that the paper does not explain", part)
			}
		}
	}
	// 1.07·10⁹ for each of the two sums that are left out.
	if got := (Cost{1024, 1024, 256, 16}).Full(PartScores); math.Abs(got/1e9-2*1.0737) > 1e-3 {
		t.Errorf("score and weighted sum: %v", got)
	}
}
