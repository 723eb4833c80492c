package pairs

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/zeebo/xxh3"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/seq"
)

var (
	wordOrSymbol = regexp.MustCompile(`[\pL\pN\pM]+|[^\s]`)
	isWord       = regexp.MustCompile(`^[\pL\pN\pM]`)
)

// reference has the n-grams of a text, computed from the definition in the package's documentation.
type reference struct {
	counts  [5]map[string]float64
	capital map[string]bool // words; true if all occurrences are capitalised within a sentence
	words   int
}

func referenceOf(text string) *reference {
	f := &reference{capital: map[string]bool{}}
	for v := range f.counts {
		f.counts[v] = map[string]float64{}
	}
	var words []string
	var starts []bool // true if a sentence starts with the word
	ended := true
	for _, unit := range wordOrSymbol.FindAllString(text, -1) {
		if !isWord.MatchString(unit) {
			ended = strings.Contains(`.!?>"`, unit)
			continue
		}
		words, starts, ended = append(words, unit), append(starts, ended), false
	}
	upper := func(i int) bool { return unicode.IsUpper([]rune(words[i])[0]) }
	f.words = len(words)
	for i, w := range words {
		low := strings.ToLower(w)
		within := upper(i) && !starts[i]
		if before, found := f.capital[low]; !found || before {
			f.capital[low] = within
		}
		f.counts[0][low]++
		if within {
			f.counts[2][low]++
		}
		if i+1 < len(words) {
			both := low + " " + strings.ToLower(words[i+1])
			f.counts[1][both]++
			if upper(i) && upper(i+1) {
				f.counts[3][both]++
			}
		}
	}
	lower := strings.ToLower(text)
	for i := 0; i+5 <= len(lower); i++ {
		f.counts[4][lower[i:i+5]]++
	}
	for v, counts := range f.counts { // n-grams with the same slot count as one
		f.counts[v] = map[string]float64{}
		for s, n := range counts {
			f.counts[v][slotOf(v, s)] += n
		}
	}
	return f
}

// slotOf returns the slot of an n-gram as a string. Single words are returned unchanged, because it is
// unlikely that two of the few hundred words of the test share a slot.
func slotOf(view int, s string) string {
	units, parts := []ngram.Unit(nil), strings.Fields(s)
	switch view {
	case 0, 2:
		return s
	case 4:
		parts = strings.Split(s, "")
	}
	for _, u := range parts {
		units = append(units, ngram.Unit{Hash: xxh3.HashString(u)})
	}
	return fmt.Sprint(ngram.HashOf(units, 0) >> (64 - 21))
}

// features computes the features of a pair from the definition.
func (f *reference) features(other *reference, df [5]map[string]float64, texts int) []float64 {
	out := make([]float64, 59)
	for v := range f.counts {
		idf := func(s string, minTexts float64) float64 {
			return math.Log(float64(texts+1) / (max(minTexts, df[v][s]) + 1))
		}
		norm := func(counts map[string]float64) (sum float64) {
			for s, n := range counts {
				sum += math.Pow((1+math.Log(n))*idf(s, 1), 2)
			}
			return math.Sqrt(sum)
		}
		scale := 1 / (norm(f.counts[v]) * norm(other.counts[v]))
		for s, n := range f.counts[v] {
			if m := other.counts[v][s]; m > 0 {
				i := idf(s, 2)
				part := (1 + math.Log(n)) * (1 + math.Log(m)) * i * i * scale
				out[2*v] += part
				out[2*v+1] = max(out[2*v+1], i/10)
				if v == 0 {
					at := 10 + min(11, int(i))
					if f.capital[s] && other.capital[s] {
						at += 12
					}
					out[at]++
					out[at+24] += part
				}
			}
		}
	}
	for i := 10; i < 34; i++ {
		out[i] = math.Log1p(out[i])
	}
	out[58] = math.Log(float64((f.words+1)*(other.words+1))) / 20
	return out
}

// TestFeatures compares the features for units of words with the definition.
func TestFeatures(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	sentence := func() string {
		var b strings.Builder
		for range 25 {
			w := prose(r, 1)[0]
			if r.IntN(3) == 0 {
				w = strings.ToUpper(w[:1]) + w[1:]
			}
			if r.IntN(12) == 0 {
				w = "in New York"
			}
			b.WriteString(w)
			b.WriteString([]string{" ", " ", ". ", ", ", `" `, " (", "! "}[r.IntN(7)])
		}
		return b.String()
	}
	var rows made
	var texts []string
	known := map[string]bool{}
	var df [5]map[string]float64
	for v := range df {
		df[v] = map[string]float64{}
	}
	for i := range 60 {
		pair := [2]string{sentence(), sentence()}
		if i%3 == 0 && i > 0 {
			pair[0] = texts[2*i-1] // a repeated text counts once
		}
		rows = append(rows, seq.Example{A: ids(pair[0]), B: ids(pair[1]), Label: int32(i % 2)})
		texts = append(texts, pair[0], pair[1])
		for _, text := range pair {
			if !known[text] {
				known[text] = true
				for v, counts := range referenceOf(text).counts {
					for s := range counts {
						df[v][s]++
					}
				}
			}
		}
	}
	c := NewConfig(ngram.Words)
	m, _ := must.Get2(Fit(context.Background(), *c, rows, nil, Options{Classes: 2}))(t)
	if m.Texts != len(known) {
		t.Fatalf("got %d texts, want %d", m.Texts, len(known))
	}
	compare, got := newComparer(&m.Config, m.texts), make([]float64, m.features())
	nonzero := make([]int, len(got))
	for range 200 {
		a, b := texts[r.IntN(len(texts))], sentence() // a training text and a new text
		compare.features(ids(a), ids(b), got)
		want := referenceOf(a).features(referenceOf(b), df, len(known))
		sum := 0.0
		for _, s := range m.NewPredictor().Shared(ids(a), ids(b), 1000, 1) {
			sum += s.Contribution
		}
		if math.Abs(sum-want[0]) > 1e-9 {
			t.Fatalf("%q and %q: the contributions of shared words sum to %v, want the cosine %v", a, b, sum, want[0])
		}
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-9 {
				t.Fatalf("feature %d of %q and %q: got %v, want %v", i, a, b, got[i], want[i])
			}
			if want[i] != 0 {
				nonzero[i]++
			}
		}
	}
	// Feature 14 counts words with an idf of at least 4; the idf of shared words is at most ln(102/3).
	for i, n := range nonzero[:15] {
		if n == 0 && i != 14 {
			t.Errorf("feature %d is always 0", i)
		}
	}
	compare.features(ids(""), ids("one"), got)
	for i, v := range got[:len(got)-1] {
		if v != 0 {
			t.Errorf("feature %d of an empty text: got %v, want 0", i, v)
		}
	}
}
