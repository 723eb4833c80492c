package cpu

import (
	"slices"
	"testing"
)

// TestWideExponentials checks that the choice between vector kernels and kernels in Go depends only
// on a sequence's length and the head, not on the other sequences of the batch.
func TestWideExponentials(t *testing.T) {
	const heads, longest, width = 3, 8, 2*8 - 1
	e := slices.Repeat([]float32{1}, 2*heads*width)
	e[1*width] = 0x1p70            // head 1, at a distance that only sequences of 8 tokens reach
	e[(heads+0)*width+6] = 0x1p-70 // head 0, at a sum of positions that only sequences of at least 4 tokens reach
	mark := func(lengths ...int) []bool {
		s := &sinusoidBias{e: e, width: width, heads: heads, longest: longest, wide: make([]bool, heads*len(lengths))}
		for head := range heads {
			s.markWide(head, lengths)
		}
		return s.wide
	}
	want := map[int][]bool{3: {false, false, false}, 4: {true, false, false}, 8: {true, true, false}}
	for n, wide := range want {
		if got := mark(n); !slices.Equal(got, wide) {
			t.Errorf("%d tokens: got %v, want %v", n, got, wide)
		}
	}
	if got := mark(); len(got) != 0 {
		t.Errorf("no sequences: got %v, want none", got)
	}
	if got := mark(3, 8, 4); !slices.Equal(got, slices.Concat(want[3], want[8], want[4])) {
		t.Errorf("three sequences: got %v, want the results of each sequence alone", got)
	}
}
