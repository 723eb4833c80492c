package model

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/chunk"
	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/recent"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestRecut edits documents at up to two random places, and checks that the chunks are the same as after
// cutting the whole document. A kept key must belong to the same tokens.
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
							t.Fatalf("%s: a chunk has the key of other tokens", config.Rule)
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
			t.Errorf("%d of %d chunks kept, want at least half", kept, all)
		}
	}
}

// TestCutKeyed checks that an edit hashes only a few chunks, and that the key of a chunk depends only
// on its tokens.
func TestCutKeyed(t *testing.T) {
	c := configtest.TinyConfig()
	c.NumLayers = 2
	c.Chunks = &config.Chunks{Rule: "content", Average: 256, Exports: 4, Layers: 1}
	r := must.Get(OpenRunner(c, make([]float32, NewParameters(c).Words), nil, cpu.New(2), 1))(t)
	defer r.Close()
	r.CacheExports(1 << 20)
	random := rand.New(rand.NewPCG(3, 8))
	document := make([]int32, 2*recent.MinTokens)
	for i := range document {
		document[i] = random.Int32N(int32(c.VocabSize))
	}
	cut := func(tokens []int32) []docChunk { return r.cutKeyed(t.Context(), []seq.Example{{A: tokens}}, 1)[0] }
	before, known := cut(document), map[*chunkKey]bool{}
	for _, x := range before {
		known[x.key] = true
	}
	edited := slices.Insert(slices.Clone(document), len(document)/2, 1, 2, 3)
	hashed := 0
	for _, x := range cut(edited) {
		if *x.key != keyOf(x.tokens, c.VocabSize) {
			t.Fatalf("a chunk of %d tokens has the key of other tokens", len(x.tokens))
		}
		if !known[x.key] {
			hashed++
		}
	}
	if hashed < 1 || hashed > 10 {
		t.Errorf("an edit of a document of %d chunks hashed %d chunks, want 1 to 10", len(before), hashed)
	}
}
