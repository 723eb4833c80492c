package main

import (
	"math"
	"testing"
)

// TestSimilarity checks the mean cosine and the rank of rows with known values.
func TestSimilarity(t *testing.T) {
	for _, c := range []struct {
		name   string
		rows   []float32
		cosine float64
		rank   float64
	}{
		{"three equal rows", []float32{3, 4, 3, 4, 3, 4}, 1, 1},
		{"parallel rows", []float32{3, 4, 6, 8}, 1, 1},
		{"orthogonal rows", []float32{2, 0, 0, 5}, 0, 2},
		{"opposite rows", []float32{1, 1, -1, -1}, -1, 1},
		{"two equal rows, one orthogonal", []float32{1, 0, 1, 0, 0, 1}, 1.0 / 3, 2},
		{"a row of zeros", []float32{1, 0, 1, 0, 0, 0}, 1.0 / 3, 1},
	} {
		s, err := tokenSimilarity(c.rows, 2)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(s[0]-c.cosine) > 1e-12 || s[1] != c.rank {
			t.Errorf("%s: cosine %v, rank %v; want %v, %v", c.name, s[0], s[1], c.cosine, c.rank)
		}
	}
}
