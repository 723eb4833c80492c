package baseline

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// TestUnigramBits checks that the bits per token match the entropy of the known frequencies, that
// only target tokens count, and that unlabelled rows count as well.
func TestUnigramBits(t *testing.T) {
	draw := func(r *rand.Rand) seq.Example {
		e := seq.Example{A: make([]int32, 64), Label: seq.NoLabel}
		for i := range e.A {
			if e.A[i] = 1; r.IntN(4) == 0 {
				e.A[i] = 2
			}
		}
		return e
	}
	s := spec()
	s.VocabSize = 4
	set := dataset(t, s, map[string]int{"train": 2000, "val": 500}, draw)
	ctx := context.Background()
	tokens := func(e seq.Example) []int32 { return e.A }
	bits := func(targets func(e seq.Example) []int32) float64 {
		return must.Get(UnigramBits(ctx, set, "val", seq.Window{Length: 32}, 4, tokens, targets))(t)
	}
	entropy := 0.75*math.Log2(1/0.75) + 0.25*2
	if got := bits(func(e seq.Example) []int32 {
		if len(e.A) != 32 {
			t.Errorf("got %d tokens, want the window of 32", len(e.A))
		}
		return e.A
	}); math.Abs(got-entropy) > 0.02 {
		t.Errorf("got %.4f bits per token, want the entropy %.4f", got, entropy)
	}
	for token, want := range map[int32]float64{1: math.Log2(1 / 0.75), 2: 2, 3: math.Log2(2000*32 + 4)} {
		if got := bits(func(seq.Example) []int32 { return []int32{token} }); math.Abs(got-want) > 0.03 {
			t.Errorf("token %d: got %.4f bits, want %.4f", token, got, want)
		}
	}
	// If all tokens are 0, a target of 0 takes no bits.
	zero := func(e seq.Example) []int32 { return make([]int32, len(e.A)) }
	if got, err := UnigramBits(ctx, set, "val", seq.Window{}, 1, zero, zero); err != nil || got != 0 {
		t.Errorf("constant target: got %v bits, error %v, want 0 bits", got, err)
	}
	must.Fail(t, "none in the split val", "no targets")(UnigramBits(ctx, set, "val", seq.Window{}, 4, tokens,
		func(seq.Example) []int32 { return nil }))
	ended, cancel := context.WithCancel(ctx)
	cancel()
	must.FailWith(t, context.Canceled, "a cancelled context")(
		UnigramBits(ended, set, "val", seq.Window{}, 4, tokens, tokens))
}
