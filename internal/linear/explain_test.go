package linear

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/seq"
)

// TestExplain checks that the contributions, the rest and the bias add up to the logit, and that the
// token ranges of an n-gram have the same text.
func TestExplain(t *testing.T) {
	for _, classes := range []int{2, 4} {
		m, _ := fitted(t, classSpec(classes), wordOptions, moods(1, 800, classes), nil, Options{})
		p := m.NewPredictor()
		bias := slices.Clone(p.Logits(&seq.Example{}))
		long := 0
		for _, e := range moods(2, 60, classes) {
			text := text(e.A)
			z := slices.Clone(p.Logits(&e))
			for output := range classes {
				got := p.Explain(&e, output)
				want := z[output] - bias[output]
				if classes == 2 {
					want = z[output] - z[1-output] - bias[output] + bias[1-output]
				}
				if len(got) != 1 || got[0].Shared != nil {
					t.Fatalf("explanations %+v, want one without shared words", got)
				}
				sum, last := got[0].Rest, math.Inf(1)
				for _, g := range got[0].NGrams {
					if sum += g.Contribution; math.Abs(g.Contribution) > last {
						t.Fatalf("%q: contributions are not sorted: %+v", text, got[0].NGrams)
					}
					last = math.Abs(g.Contribution)
					first := text[g.Places[0][0]:g.Places[0][1]]
					if n := strings.Count(" "+text+" ", " "+first+" "); n > 1 && len(g.Places) < 2 ||
						len(strings.Fields(first)) > 3 {
						t.Errorf("%q: %q occurs %d times and has the ranges %v, want at least 2 ranges for several "+
							"occurrences, and at most 3 words", text, first, n, g.Places)
					}
					for _, place := range g.Places {
						if text[place[0]:place[1]] != first {
							t.Errorf("%q: one n-gram has the texts %q and %q", text, first, text[place[0]:place[1]])
						}
					}
				}
				if math.Abs(sum-want) > 1e-6 {
					t.Errorf("%d classes, output %d: the sum is %v, expected %v", classes, output, sum, want)
				}
				if len(got[0].NGrams) == MaxExplained && got[0].Rest != 0 {
					long++
				}
			}
		}
		if long == 0 {
			t.Error("no row has more n-grams than an explanation lists: the test needs such a row")
		}
	}
}

// text returns the text of ids of the byte tokenizer.
func text(ids []int32) string {
	b := make([]byte, len(ids))
	for i, id := range ids {
		b[i] = byte(id - 1)
	}
	return string(b)
}

// TestExplainPairs checks that words of both texts are listed with their ranges in each text, the rarest
// first. The first range of an n-gram must lie within the text of its side, and the contributions of the
// n-grams must add up to their weighted logit.
func TestExplainPairs(t *testing.T) {
	train := shared(1, 300)
	m, _ := fitted(t, pairsSpec(), wordOptions, train, nil, Options{}) // with the prior's weights
	e := seq.Example{A: ids("w01 Zork w00 and zork"), B: ids("the w00 ZORK, w01")}
	p := m.NewPredictor()
	got := p.Explain(&e, 1)
	if len(got) != 2 || len(got[0].Shared) < 2 || len(got[0].Shared) != len(got[1].Shared) {
		t.Fatalf("explanations %+v, want two with the same shared words", got)
	}
	if a, b := got[0].Shared[0], got[1].Shared[0]; a.Contribution != b.Contribution ||
		!slices.Equal(a.Places, [][2]int{{4, 8}, {17, 21}}) || !slices.Equal(b.Places, [][2]int{{8, 12}}) {
		t.Errorf("zork has the ranges %v and %v, want 4 to 8 and 17 to 21, and 8 to 12", a.Places, b.Places)
	}
	sum := 0.0
	for _, g := range got[0].Shared {
		sum += g.Contribution
	}
	if sum <= 0 || sum > 1 {
		t.Errorf("the contributions add up to %v, want a cosine above 0 and at most 1", sum)
	}
	total := got[0].Rest + got[1].Rest
	for side, tokens := range [][]int32{e.A, e.B} {
		for _, g := range got[side].NGrams {
			total += g.Contribution
			if g.Places[0][1] > len(tokens) {
				t.Errorf("side %d: the range %v is beyond the end of the text", side, g.Places[0])
			}
		}
	}
	want := m.Config.Pairs.Weights[0] * (p.nGramLogits(&e)[1] - float64(m.bias[0]))
	if math.Abs(total-want) > 1e-6 || total == 0 {
		t.Errorf("the n-grams contribute %v, expected %v", total, want)
	}
}

// TestExplainNumbers checks that contributions to a number are in its own units.
func TestExplainNumbers(t *testing.T) {
	s := &seq.Spec{Task: seq.Regression, Tokenizer: []byte(`{"type":"byte"}`), VocabSize: 257,
		NumberNames: []string{"a", "b"}}
	var train made
	for i := range 300 {
		low := []string{"low", "high"}[i%2]
		train = append(train, seq.Example{A: ids(low + " w" + string(rune('a'+i%7))),
			Numbers: []float32{float32(100 * (i % 2)), float32(i % 3)}})
	}
	m, _ := fitted(t, s, wordOptions, train, nil, Options{})
	p, e := m.NewPredictor(), train[1]
	for output, n := range m.Config.Numbers {
		sum := 0.0
		x := p.Explain(&e, output)[0]
		for _, g := range x.NGrams {
			sum += g.Contribution
		}
		want := n.Deviation * (p.Logits(&e)[output] - float64(m.bias[output]))
		if math.Abs(sum+x.Rest-want) > 1e-5*n.Deviation {
			t.Errorf("%s: the sum is %v, expected %v", n.Name, sum+x.Rest, want)
		}
	}
}
