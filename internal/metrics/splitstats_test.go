package metrics

import "testing"

// TestBins: every length is in the bin that its edges say.
func TestBins(t *testing.T) {
	for length := int64(1); length < 1<<20; length += 1 + length/50 {
		if at := binOf(length); binEdges[at] > length || binEdges[at+1] <= length {
			t.Fatalf("length %d is in the bin from %d to %d", length, binEdges[at], binEdges[at+1])
		}
	}
}
