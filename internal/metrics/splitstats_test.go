package metrics

import "testing"

// TestBins checks that lengths from 1 lie between the edges of their bins.
func TestBins(t *testing.T) {
	for length := int64(1); length < 1<<20; length += 1 + length/50 {
		if bin := binOf(length); binEdges[bin] > length || binEdges[bin+1] <= length {
			t.Fatalf("binOf(%d) = %d, from %d to below %d; want the bin that contains the length", length, bin,
				binEdges[bin], binEdges[bin+1])
		}
	}
}
