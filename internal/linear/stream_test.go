package linear

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/seq"
)

// TestStream checks that a row in parts has exactly the logits of the whole row. It tests two and three
// classes, n-grams of words, and n-grams of bytes combined with words.
func TestStream(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 2))
	for _, classes := range []int{2, 3} {
		for _, n := range []ngram.Options{wordOptions,
			{Units: ngram.Bytes, MinN: 2, MaxN: 4, Slots: 1 << 14, MinCount: 2, MaxWords: 2}} {
			m, _ := fitted(t, classSpec(classes), n, moods(1, 300, classes), moods(2, 100, classes), Options{})
			p := m.NewPredictor()
			for _, e := range moods(3, 40, classes) {
				want := p.Logits(&seq.Example{A: e.A})
				s := m.NewStream()
				for rest := e.A; len(rest) > 0; {
					part := min(1+r.IntN(20), len(rest))
					s.Add(rest[:part])
					rest = rest[part:]
				}
				if got := s.Logits(); !slices.Equal(got, want) {
					t.Fatalf("%d classes, %s: logits %v, want %v", classes, n.Units, got, want)
				}
			}
		}
	}
}
