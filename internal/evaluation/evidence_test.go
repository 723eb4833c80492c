package evaluation

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// TestMcNemar compares p-values with sums of binomial coefficients.
func TestMcNemar(t *testing.T) {
	for _, x := range []struct {
		a, b int
		want float64
	}{{0, 0, 1}, {4, 4, 1}, {5, 0, 2.0 / 32}, {0, 5, 2.0 / 32}, {10, 2, 2 * (1 + 12 + 66) / 4096.0}, {3, 2, 1}} {
		if got := mcNemar(x.a, x.b); math.Abs(got-x.want) > 1e-12 {
			t.Errorf("%d and %d: p = %v, want %v", x.a, x.b, got, x.want)
		}
	}
}

// TestSelections checks the tokens selected by largest and randomOf, and the rows returned by only.
func TestSelections(t *testing.T) {
	for n, want := range map[int]int{2: 1, 10: 1, 11: 2, 100: 10} {
		weights := make([]float32, n)
		weights[n-1] = 1 // the other weights are equal: the first of them are selected
		evidence, random := largest(weights), randomOf(n, 7, 0)
		if !evidence[n-1] || want > 1 && !evidence[want-2] || chosen(evidence) != want || chosen(random) != want {
			t.Errorf("%d tokens: evidence %v, random %v, want %d", n, evidence, random, want)
		}
	}
	if x := randomOf(100, 1, 0); slices.Equal(x, randomOf(100, 2, 0)) || slices.Equal(x, randomOf(100, 1, 1)) {
		t.Error("rows or sides share their random tokens")
	}
	e := seq.Example{A: []int32{1, 2, 3}, B: []int32{4, 5}}
	selected := [2][]bool{{false, true, false}, {true, false}}
	if x := only(e, selected, true); !slices.Equal(x.A, []int32{2}) || !slices.Equal(x.B, []int32{4}) {
		t.Errorf("kept tokens %v and %v, want [2] and [4]", x.A, x.B)
	}
	if x := only(e, selected, false); !slices.Equal(x.A, []int32{1, 3}) || !slices.Equal(x.B, []int32{5}) {
		t.Errorf("other tokens %v and %v, want [1 3] and [5]", x.A, x.B)
	}
}

func chosen(selected []bool) (n int) {
	for _, x := range selected {
		n += count(x)
	}
	return n
}

// TestEvidence compares the counts with predictions of each shortened row.
func TestEvidence(t *testing.T) {
	for _, name := range []string{"pre", "retrieval"} {
		s := goldenScorer(t, name, nil)
		c := s.Config()
		random := rand.New(rand.NewPCG(1, 5))
		var rows []seq.Example
		for i := range 80 {
			e := seq.Example{A: tokensOf(random, 1+i%40, c.VocabSize), Index: uint32(i)}
			if c.Sequences() == 2 {
				e.B = tokensOf(random, 2+random.IntN(40), c.VocabSize)
			}
			rows = append(rows, e)
		}
		got := new(Evidence)
		for batch := range slices.Chunk(rows, 30) {
			must.Succeed(t, got.Add(t.Context(), s, batch))
		}
		want := Evidence{}
		class := func(e seq.Example) int {
			return sft.Argmax(must.Get(s.Examples(t.Context(), []seq.Example{e}))(t)[0].Logits)
		}
		for _, e := range rows {
			if len(e.A) < 2 {
				continue
			}
			explained := must.Get(s.Explain(t.Context(), []seq.Example{e}))(t)[0].Explanations
			evidence, chance := [2][]bool{}, [2][]bool{}
			for side, tokens := range [][]int32{e.A, e.B}[:c.Sequences()] {
				evidence[side], chance[side] = largest(explained[side].Pooling), randomOf(len(tokens), e.Index, side)
			}
			predicted := class(e)
			want.Rows++
			want.Kept += count(class(only(e, evidence, true)) == predicted)
			want.RandomKept += count(class(only(e, chance, true)) == predicted)
			changed, by := class(only(e, evidence, false)) != predicted, class(only(e, chance, false)) != predicted
			want.Changed += count(changed)
			want.RandomChanged += count(by)
			want.onlyEvidence += count(changed && !by)
			want.onlyRandom += count(by && !changed)
		}
		want.P = mcNemar(want.onlyEvidence, want.onlyRandom)
		if *got != want || want.Rows == len(rows) || want.Changed+want.Kept == 0 {
			t.Errorf("found %+v, want %+v", *got, want)
		}
		var text bytes.Buffer
		must.Succeed(t, got.Write(&text))
		if !strings.Contains(text.String(), "same class from a tenth of tokens") {
			t.Errorf("got text %q, want the rate of the same class", text.String())
		}
	}
}

func tokensOf(random *rand.Rand, n, vocab int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = 1 + random.Int32N(int32(vocab)-1)
	}
	return out
}
