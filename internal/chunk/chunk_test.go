package chunk

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// document is a test vector: the lengths of a document's chunks.
type document struct {
	Rule    Rule
	Average int
	Vocab   int
	Seed    uint32
	Tokens  int
	Lengths []int
}

// tokens returns the tokens that the comment of the test vectors defines.
func (d document) tokens() []int32 {
	out := make([]int32, d.Tokens)
	x := d.Seed
	for i := range out {
		out[i] = int32((x >> 8) % uint32(d.Vocab))
		x = 1664525*x + 1013904223
	}
	return out
}

// TestVectors compares hashes and chunks with vectors that a Python program computed from the
// definitions of Philox and of [Content].
func TestVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/vectors.json")
	must.Succeed(t, err)
	var vectors struct {
		Gear []struct {
			Token uint32
			Gear  string
		}
		Documents []document
	}
	must.Succeed(t, json.Unmarshal(data, &vectors))
	for _, g := range vectors.Gear {
		if bits := fmt.Sprintf("%016x", gear(g.Token)); bits != g.Gear {
			t.Errorf("token %d: got the bits %s, want %s", g.Token, bits, g.Gear)
		}
	}
	for _, d := range vectors.Documents {
		k := NewCutter(Config{d.Rule, d.Average}, d.Vocab)
		if got := k.Lengths(d.tokens()); !slices.Equal(got, d.Lengths) {
			t.Errorf("%s %d, seed %d: got the lengths %d, want %d", d.Rule, d.Average, d.Seed, got, d.Lengths)
		}
	}
}

// TestParts cuts documents that arrive in parts, and expects the chunks of the whole document.
func TestParts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []Config{{Content, 16}, {Content, 64}, {Fixed, 50}} {
		k := NewCutter(c, 256)
		for range 50 {
			tokens := randomTokens(r, r.IntN(2000))
			want := k.Lengths(tokens)
			k.Reset()
			got, length := []int(nil), 0
			for len(tokens) > 0 {
				part := tokens[:min(len(tokens), r.IntN(100))]
				for len(part) > 0 {
					n, ends := k.Next(part)
					length += n
					part, tokens = part[n:], tokens[n:]
					if ends {
						got, length = append(got, length), 0
					}
				}
			}
			if length > 0 {
				got = append(got, length)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%v: got the lengths %d from parts, want %d", c, got, want)
			}
		}
	}
}

// TestLengths checks the bounds and the mean of chunk lengths for random tokens. A geometric
// distribution with mean A, plus A/4 − 1 and cut off at 2A, has a mean of 68.2 for A = 64.
func TestLengths(t *testing.T) {
	tokens := randomTokens(rand.New(rand.NewPCG(3, 4)), 1<<20)
	lengths := NewCutter(Config{Content, 64}, 256).Lengths(tokens)
	sum := 0
	for i, n := range lengths {
		if n > 128 || n < 16 && i < len(lengths)-1 {
			t.Fatalf("chunk %d has %d tokens, expected 16 to 128", i, n)
		}
		sum += n
	}
	if mean := float64(sum) / float64(len(lengths)); sum != len(tokens) || mean < 66 || mean > 70 {
		t.Errorf("%d tokens in chunks of %.1f on average, want %d in chunks of 68", sum, mean, len(tokens))
	}
}

// TestEdit inserts a token into documents. The chunks before the edit must not change, and an edit may
// change at most 3 chunks on average.
func TestEdit(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	k := NewCutter(Config{Content, 256}, 256)
	changed := 0
	const edits = 200
	for range edits {
		tokens := randomTokens(r, 20000)
		at := r.IntN(len(tokens))
		before, after := cuts(k, tokens), cuts(k, slices.Insert(slices.Clone(tokens), at, int32(r.IntN(256))))
		head := 0
		for head < len(before) && before[head] <= at {
			if after[head] != before[head] {
				t.Fatalf("the cut %d before the edit at %d moved to %d", before[head], at, after[head])
			}
			head++
		}
		tail := 0
		for tail < min(len(before), len(after))-head && after[len(after)-1-tail] == before[len(before)-1-tail]+1 {
			tail++
		}
		if tail == 0 {
			t.Fatalf("after an edit at %d the document ends at %d, expected %d", at, after[len(after)-1], len(tokens)+1)
		}
		changed += len(after) - head - tail + 1 // the chunk that ends at the first shared cut is changed
	}
	if mean := float64(changed) / edits; mean > 3 {
		t.Errorf("an insertion changed %.1f chunks on average, expected at most 3", mean)
	}
}

// cuts returns the positions where the chunks of a document end.
func cuts(k *Cutter, tokens []int32) []int {
	out, at := k.Lengths(tokens), 0
	for i, n := range out {
		at += n
		out[i] = at
	}
	return out
}

func randomTokens(r *rand.Rand, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(r.IntN(256))
	}
	return out
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		config Config
		error  string
	}{
		{Config{Content, 1024}, ""},
		{Config{Fixed, 1000}, ""},
		{Config{"hash", 1024}, `rule: expected content or fixed, found "hash"`},
		{Config{Fixed, 15}, "expected 16 to 1048576 tokens, found 15"},
		{Config{Fixed, 1<<20 + 1}, "found 1048577"},
		{Config{Content, 1000}, "expected a power of two with the rule content, found 1000"},
	} {
		err := c.config.Validate()
		if panicked := newCutterPanics(c.config); panicked != (c.error != "") {
			t.Errorf("%v: NewCutter panics: got %v, want %v", c.config, panicked, c.error != "")
		}
		if c.error == "" && err != nil || c.error != "" && (err == nil || !strings.Contains(err.Error(), c.error)) {
			t.Errorf("%v: got the error %v, want %q", c.config, err, c.error)
		}
	}
}

func newCutterPanics(c Config) (panics bool) {
	defer func() { panics = recover() != nil }()
	NewCutter(c, 256)
	return false
}

func BenchmarkContent(b *testing.B) {
	tokens := randomTokens(rand.New(rand.NewPCG(7, 8)), 1<<20)
	k := NewCutter(Config{Content, 1024}, 256)
	b.SetBytes(int64(len(tokens)))
	for b.Loop() {
		k.Lengths(tokens)
	}
}
