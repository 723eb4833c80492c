package model

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/chunk"
)

// TestRecut edits documents at random, at one and at several places, and compares the chunks with
// those of the whole document. Chunks of equal tokens must keep their keys.
func TestRecut(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 2))
	for _, config := range []chunk.Config{{Rule: chunk.Content, Average: 16}, {Rule: chunk.Fixed, Average: 16}} {
		cutter := chunk.NewCutter(config, 4)
		tokens := func(n int) []int32 {
			out := make([]int32, n)
			for i := range out {
				out[i] = random.Int32N(4)
			}
			return out
		}
		kept, all := 0, 0
		for range 300 {
			v := new(version)
			document := tokens(random.IntN(600))
			recut(v, cutter, document, 0, 0)
			for range 10 {
				keys := map[*chunkKey][]int32{} // tokens of each key
				at := 0
				for i := range v.Value {
					x := &v.Value[i]
					if x.key == nil {
						x.key = new(chunkKey)
					}
					keys[x.key] = document[at : at+x.length]
					at += x.length
				}
				old := document
				for range random.IntN(3) {
					from := random.IntN(len(document) + 1)
					to := min(len(document), from+random.IntN(40))
					document = slices.Concat(document[:from], tokens(random.IntN(40)), document[to:])
				}
				prefix := 0
				for n := min(len(old), len(document)); prefix < n && old[prefix] == document[prefix]; prefix++ {
				}
				suffix := 0
				for n := min(len(old), len(document)) - prefix; suffix < n &&
					old[len(old)-1-suffix] == document[len(document)-1-suffix]; suffix++ {
				}
				recut(v, cutter, document, prefix, suffix)
				if !slices.Equal(v.Tokens, document) {
					t.Fatalf("%s: tokens %v, want %v", config.Rule, v.Tokens, document)
				}
				var lengths []int
				at = 0
				for _, x := range v.Value {
					lengths = append(lengths, x.length)
					if x.key != nil {
						kept++
						if !slices.Equal(keys[x.key], document[at:at+x.length]) {
							t.Fatalf("%s: a chunk has the key of another", config.Rule)
						}
					}
					at += x.length
				}
				all += len(lengths)
				if want := cutter.Lengths(document); !slices.Equal(lengths, want) {
					t.Fatalf("%s: chunks of %d tokens, want %d", config.Rule, lengths, want)
				}
			}
		}
		if config.Rule == chunk.Content && kept < all/2 {
			t.Errorf("%d of %d chunks kept", kept, all)
		}
	}
}
