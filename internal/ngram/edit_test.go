package ngram

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMargins checks on random edits that the n-grams of a sequence change only within the edited
// part and its margins, and that the margins are short.
func TestMargins(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 9))
	alphabet := []byte("ab .\n\xc3\xa4\xe6\xbc\xa2\xff")
	for _, o := range []Options{{Units: Words, MinN: 1, MaxN: 3, Slots: MinSlots}, {Units: Bytes, MinN: 1, MaxN: 6},
		{Units: Bytes, MinN: 2, MaxN: 4, MaxWords: 2}, {Units: Tokens, MinN: 1, MaxN: 8}} {
		x := NewExtractor(o)
		included, all := 0, 0
		for range 3000 {
			tokens := make([]int32, random.IntN(120))
			for i := range tokens {
				if tokens[i] = int32(alphabet[random.IntN(len(alphabet))]) + 1; random.IntN(40) == 0 {
					tokens[i] = 0
				}
			}
			old := slices.Clone(tokens)
			from := random.IntN(len(tokens) + 1)
			to := min(len(tokens), from+random.IntN(5))
			inserted := make([]int32, random.IntN(5))
			for i := range inserted {
				inserted[i] = int32(alphabet[random.IntN(len(alphabet))]) + 1
			}
			edited := slices.Concat(tokens[:from], inserted, tokens[to:])
			before, after := o.Margins(tokens[:from], tokens[to:])
			counts := map[uint64]int{}
			count := func(tokens []int32, n int) {
				for _, h := range x.Hashes(tokens, nil) {
					counts[h] += n
				}
			}
			count(old, 1)
			count(old[from-before:to+after], -1)
			count(edited[from-before:from+len(inserted)+after], 1)
			count(edited, -1)
			for h, n := range counts {
				if n != 0 {
					t.Fatalf("%+v: %d to %d of %v replaced by %v: the n-gram %x differs by %d",
						o, from, to, old, inserted, h, n)
				}
			}
			included, all = included+before+after, all+len(tokens)
		}
		if included > all*2/3 {
			t.Errorf("%+v: the margins have %d of %d tokens, want at most two thirds", o, included, all)
		}
	}
}
