package index

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/ngram"
)

// ids returns the token ids of a text in the byte tokenizer.
func ids(text string) (out []int32) {
	for _, b := range []byte(text) {
		out = append(out, int32(b)+1)
	}
	return out
}

// bm25 computes the lexical score from its definition.
func bm25(query, text string, all map[string]string) float64 {
	length, has := 0, map[string]int{}
	for _, t := range all {
		seen := map[string]bool{}
		for _, w := range strings.Fields(t) {
			if length++; !seen[w] {
				has[w]++
			}
			seen[w] = true
		}
	}
	sum, bound, counts := 0.0, 0.0, map[string]float64{}
	words := strings.Fields(text)
	for _, w := range words {
		counts[w]++
	}
	seen := map[string]bool{}
	for _, w := range strings.Fields(query) {
		if seen[w] {
			continue
		}
		seen[w] = true
		n, f := float64(has[w]), counts[w]
		idf := math.Log(1 + (float64(len(all))-n+0.5)/(n+0.5))
		bound += idf * 2.2
		sum += idf * f * 2.2 / (f + 1.2*(0.25+0.75*float64(len(words))*float64(len(all))/float64(length)))
	}
	return sum / bound
}

// TestLexicalScore compares scores with their definition, after items were added, replaced and
// removed, and after the index was reopened.
func TestLexicalScore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.arrow")
	o := Options{Model: "m", Tokenizer: "t", Size: 4, Units: ngram.Words}
	x := must.Get(Open(path, o))(t)
	defer func() { must.Succeed(t, x.Close()) }()
	r := rand.New(rand.NewPCG(6, 6))
	prose := func() string {
		words := make([]string, 1+r.IntN(20))
		for i := range words {
			words[i] = fmt.Sprintf("w%d", r.IntN(1+r.IntN(60)))
		}
		return strings.Join(words, " ")
	}
	texts, vectors := map[string]string{}, map[string][]float32{}
	for round := range 3 {
		for range 400 {
			id := fmt.Sprint(r.IntN(300))
			if r.IntN(4) == 0 {
				must.Get(x.Remove([]string{id}))(t)
				delete(texts, id)
				continue
			}
			v := []float32{r.Float32(), r.Float32(), r.Float32(), r.Float32()}
			texts[id], vectors[id] = prose(), v
			must.Succeed(t, x.Add(Item{ID: id, Tokens: ids(texts[id]), Vector: v})())
		}
		if round == 1 {
			must.Succeed(t, x.Close())
			x = must.Get(Open(path, o))(t)
		}
		for _, weight := range []float64{0, 0.3, 1} {
			text, q := prose(), []float32{1, 0, 0.5, 0}
			got := must.Get(x.Search(Query{q, ids(strings.ToUpper(text)), weight}, 1000, directly))(t)
			if len(got) != len(texts) {
				t.Fatalf("got %d items, want %d", len(got), len(texts))
			}
			scores := map[string]float64{}
			for _, h := range got {
				want := 0.0
				if weight > 0 {
					want = bm25(text, texts[h.ID], texts)
				}
				c := cosine(q, vectors[h.ID])
				if math.Abs(h.Lexical-want) > 1e-12 || h.Cosine != c || h.Lexical < 0 || h.Lexical > 1 {
					t.Fatalf("%q for %q: got lexical score %v, want %v; got cosine %v, want %v", texts[h.ID], text,
						h.Lexical, want, h.Cosine, c)
				}
				scores[h.ID] = (1-weight)*c + weight*h.Lexical
			}
			if !slices.IsSortedFunc(got, func(a, b Hit) int {
				return cmp.Or(cmp.Compare(scores[b.ID], scores[a.ID]), cmp.Compare(a.ID, b.ID))
			}) {
				t.Errorf("weight %v: the hits are not sorted by score", weight)
			}
			if best := must.Get(x.Search(Query{q, ids(text), weight}, 7, directly))(t); !reflect.DeepEqual(best,
				got[:7]) {
				t.Errorf("weight %v: a search for 7 items differs from the first 7 of all items", weight)
			}
		}
	}
	for id := range texts {
		must.Get(x.Remove([]string{id}))(t)
	}
	if w := x.items.words; w.length != 0 || len(w.items) != 0 {
		t.Errorf("got word counts %+v after all items were removed, want none", w)
	}
	must.Get(x.Search(Query{make([]float32, 4), ids("w1"), 1}, 3, directly))(t)
}

// TestLexicalScoreOfTokens checks that token ids count as words unless Options.Units is ngram.Words, and that
// the lexical score of a query without words is 0.
func TestLexicalScoreOfTokens(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "x.arrow"))
	for id, tokens := range map[string][]int32{"a": {70000, 2}, "b": {3, 4}, "c": nil} {
		must.Succeed(t, x.Add(Item{ID: id, Tokens: tokens, Vector: []float32{1, 0, 0, 0}})())
	}
	got := must.Get(x.Search(Query{[]float32{1, 0, 0, 0}, []int32{4, 9}, 0.5}, 3, directly))(t)
	if got[0].ID != "b" || got[0].Lexical <= 0 || got[1].Lexical != 0 || got[1].ID != "a" {
		t.Errorf("got %+v, want b first, and a with the lexical score 0", got)
	}
	if got = must.Get(x.Search(Query{[]float32{1, 0, 0, 0}, nil, 1}, 3, directly))(t); got[0].ID != "a" ||
		got[0].Lexical != 0 {
		t.Errorf("query without words: got %+v, want a first, with the lexical score 0", got)
	}
}
