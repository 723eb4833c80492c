package tokenizers

import (
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestOffsets checks that the offsets of each token delimit its text.
func TestOffsets(t *testing.T) {
	words := &Words{words: []string{"zoë"}, ids: map[string]int32{"zoë": 2}}
	for _, c := range []struct {
		t    Tokenizer
		text string
		want []string
	}{
		{Byte{}, "aë", []string{"a", "\xc3", "\xab"}},
		{words, " Zoë's\u00a0A! Ⓐ", []string{"Zoë", "'", "s", "A", "!", "Ⓐ"}},
		{DNA{1}, "AC-n t", []string{"A", "C", "n", "t"}},
	} {
		offsets, err := Offsets(c.t, c.text)
		tokens, _ := c.t.Encode(c.text)
		var got []string
		for _, o := range offsets {
			got = append(got, c.text[o.Start:o.End])
		}
		if err != nil || len(tokens) != len(offsets) || !slices.Equal(got, c.want) {
			t.Errorf("%s of %q: offsets delimit %q for %d tokens, error %v; want %q", c.t.Type(), c.text, got,
				len(tokens), err, c.want)
		}
	}
	for want, x := range map[string]Tokenizer{"dna:4: overlapping tokens of 4 bases": DNA{4},
		"tokenizer mulaw: token offsets are not supported": MuLaw{}, "no text": nil} {
		must.Fail(t, want)(Offsets(x, "A"))
	}
	var got []string
	EachWord("AÉ\xff Ⓐ-b", func(w string) { got = append(got, w) })
	if want := []string{"aé", "\ufffd", "Ⓐ", "-", "b"}; !slices.Equal(got, want) {
		t.Errorf("words %q, want %q", got, want)
	}
}

// TestCharacters checks the conversions between byte and character positions of a text.
func TestCharacters(t *testing.T) {
	text := "aë€\xffz"
	bytes, characters := NewCharacters(text), NewCharacters(text)
	for i, at := range []int{0, 1, 3, 6, 7, 8} {
		if n := characters.Before(at); n != i {
			t.Errorf("%d characters before byte %d, want %d", n, at, i)
		}
		if got, ok := bytes.Byte(i); got != at || !ok {
			t.Errorf("character %d begins at byte %d, %v, want %d", i, got, ok, at)
		}
	}
	if _, ok := bytes.Byte(6); ok {
		t.Error("Byte returned true for a character after the end")
	}
}
