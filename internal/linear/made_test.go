package linear

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/seq"
)

// made holds rows in memory.
type made []seq.Example

func (m made) Lengths() (out []int32) {
	for _, e := range m {
		out = append(out, int32(e.Length()))
	}
	return out
}

func (m made) Example(i int) (seq.Example, error) { return m[i], nil }

// ids returns the byte tokenizer's ids of a text.
func ids(text string) (out []int32) {
	for _, b := range []byte(text) {
		out = append(out, int32(b)+1)
	}
	return out
}

// prose returns n random words. Words with low numbers are more frequent.
func prose(r *rand.Rand, n int) []string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("w%02d", r.IntN(1+r.IntN(60)))
	}
	return words
}

var wordOptions = ngram.Options{Units: ngram.Words, MinN: 1, MaxN: 3, Slots: 1 << 16, MinCount: 2}

// moods returns rows of text with a bigram that determines the class. If there are only two classes, their
// bigrams differ only in the order of the words. One row in 20 has a random class, and one row in 50 has no label.
func moods(seed uint64, n, classes int) (out made) {
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range n {
		words, label := prose(r, 5+r.IntN(30)), r.IntN(classes)
		at := r.IntN(len(words) - 1)
		words[at], words[at+1] = fmt.Sprintf("is%d", label), fmt.Sprintf("is%d", (label+1)%classes)
		if r.IntN(20) == 0 {
			label = r.IntN(classes)
		}
		if i%50 == 7 {
			label = int(seq.NoLabel)
		}
		out = append(out, seq.Example{A: ids(strings.Join(words, " ")), Label: int32(label)})
	}
	return out
}

// classSpec describes texts with this number of classes.
func classSpec(classes int) *seq.Spec {
	s := &seq.Spec{Task: seq.Classification, Tokenizer: []byte(`{"type":"byte"}`), VocabSize: 257, PadID: new(int32)}
	for c := range classes {
		s.LabelNames = append(s.LabelNames, fmt.Sprint("c", c))
	}
	return s
}

// fitted returns a model trained on the rows of train, and its report.
func fitted(t testing.TB, s *seq.Spec, n ngram.Options, train, val Rows, o Options) (*Model, *Report) {
	t.Helper()
	return must.Get2(Fit(context.Background(), must.Get(NewConfig(s, n))(t), train, val, o))(t)
}

// accuracy returns the fraction of labelled rows whose label has the largest logit.
func accuracy(m *Model, rows made) float64 {
	p, correct, n := m.NewPredictor(), 0, 0
	for i := range rows {
		if rows[i].Label < 0 {
			continue
		}
		n++
		best, z := 0, p.Logits(&rows[i])
		for c, v := range z {
			if v > z[best] {
				best = c
			}
		}
		if best == int(rows[i].Label) {
			correct++
		}
	}
	return float64(correct) / float64(n)
}
