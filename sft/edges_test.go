package sft

import (
	"math"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/seq"
)

// TestEdgesOfTheSameEnds: they become one, whose features are their sums, however large, and
// whose last number is how many they were.
func TestEdgesOfTheSameEnds(t *testing.T) {
	var p packedEdges
	p.add([]seq.Edge{
		{Source: 1, Target: 0, Features: []float32{3e38}},
		{Source: 0, Target: 0, Features: []float32{0.5}},
		{Source: 1, Target: 0, Features: []float32{3e38}},
		{Source: 0, Target: 0, Features: []float32{0.25}},
		{Source: 0, Target: 0, Features: []float32{-2}},
	}, 2, 1)
	if want := []float32{-1.25, 3, math.MaxFloat32, 2}; !slices.Equal(p.features, want) || !slices.Equal(p.source, []int32{0, 1}) || !slices.Equal(p.first, []int32{0, 2, 2}) {
		t.Errorf("%+v, expected the features %v", p, want)
	}
}
