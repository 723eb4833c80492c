package datastats

import (
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/chart"
)

// TestBins: every length is in the bin that its edges say.
func TestBins(t *testing.T) {
	for length := int64(1); length < 1<<20; length += 1 + length/50 {
		if at := binOf(length); binEdges[at] > length || binEdges[at+1] <= length {
			t.Fatalf("length %d is in the bin from %d to %d", length, binEdges[at], binEdges[at+1])
		}
	}
}

// TestOutline: the line falls to zero at both ends and where bins are left out.
func TestOutline(t *testing.T) {
	s := Split{Rows: 4, Histogram: []Bin{{1, 2, 1}, {2, 3, 1}, {8, 9, 2}}}
	want := []chart.Datum{{X: 1}, {X: 1, Y: 25}, {X: 2, Y: 25}, {X: 2, Y: 25}, {X: 3, Y: 25}, {X: 3}, {X: 8}, {X: 8, Y: 50}, {X: 9, Y: 50}, {X: 9}}
	if got := s.Outline(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := (&Split{}).Outline(); len(got) > 0 {
		t.Errorf("of no rows %v", got)
	}
}
