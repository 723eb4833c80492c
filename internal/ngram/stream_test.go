package ngram

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// streamOptions are options with words, bytes and tokens as units.
var streamOptions = []Options{{Units: Words, MinN: 1, MaxN: 3}, {Units: Words, MinN: 2, MaxN: 2},
	{Units: Bytes, MinN: 1, MaxN: 1}, {Units: Bytes, MinN: 3, MaxN: 6}, {Units: Bytes, MinN: 3, MaxN: 5, MaxWords: 2},
	{Units: Tokens, MinN: 1, MaxN: 8}}

// streamed returns the sorted hashes of a sequence that arrives in parts.
func streamed(o Options, parts ...[]int32) (out []uint64) {
	s := NewStream(o)
	for _, part := range parts {
		out = append(out, s.Add(part, true)...)
	}
	out = append(out, s.Add(nil, false)...)
	slices.Sort(out)
	return out
}

// hashesOf returns the sorted hashes of a whole sequence.
func hashesOf(o Options, tokens []int32) []uint64 {
	out := slices.Clone(NewExtractor(o).Hashes(tokens, nil))
	slices.Sort(out)
	return out
}

// TestStream checks that a sequence has the same n-grams in parts, for every split into two parts and for parts of one
// token. The texts have characters of several bytes, bytes that are not UTF-8, and CRLF.
func TestStream(t *testing.T) {
	for _, text := range []string{"", "a", "Été: the END\r\n\xff\xe2\x82x 好日本。😀\xf0\x9f İΣ\r\n ́", "\xe2\x82",
		"x\xc3"} {
		tokens := append(ids(text), 0)
		for _, o := range streamOptions {
			want := hashesOf(o, tokens)
			for at := range len(tokens) + 1 {
				if got := streamed(o, tokens[:at], tokens[at:]); !slices.Equal(got, want) {
					t.Fatalf("%v: %q in parts at %d: hashes %x, want %x", o, text, at, got, want)
				}
			}
			if got := streamed(o, slices.Collect(slices.Chunk(tokens, 1))...); !slices.Equal(got, want) {
				t.Fatalf("%v: %q in parts of a token: hashes %x, want %x", o, text, got, want)
			}
		}
	}
}

// TestStreamLong checks that random texts have the same n-grams in random parts as in one part, and that
// a stream uses bounded memory. Some words are longer than longWord.
func TestStreamLong(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 7))
	for _, o := range streamOptions {
		var text strings.Builder
		for range 20 {
			word := strings.Repeat([]string{"a", "B", "é"}[r.IntN(3)], r.IntN(3)*r.IntN(3*longWord))
			fmt.Fprintf(&text, "%s%d%s", word, r.IntN(100), []string{" ", "\r\n", "é", "。"}[r.IntN(4)])
		}
		tokens := ids(text.String())
		s, got := NewStream(o), []uint64(nil)
		for rest := tokens; len(rest) > 0; {
			n := min(1+r.IntN(1000), len(rest))
			got = append(got, s.Add(rest[:n], true)...)
			rest = rest[n:]
			if held := len(s.pending) + len(s.units) + len(s.words) + len(s.x.word); held > longWord+MaxN*3 {
				t.Fatalf("%v: the stream holds %d tokens, units and bytes", o, held)
			}
		}
		got = append(got, s.Add(nil, false)...)
		slices.Sort(got)
		if want := hashesOf(o, tokens); !slices.Equal(got, want) {
			t.Errorf("%v: got %d hashes, want %d, or their values differ", o, len(got), len(want))
		}
	}
}
