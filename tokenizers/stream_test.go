package tokenizers

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sftseq/sftseq/internal/must"
)

// streamTokenizers returns the tokenizers that encode texts in parts, and texts for each.
func streamTokenizers(t *testing.T) map[Tokenizer][]string {
	words := must.Get(New(json.RawMessage(`{"type":"words",` +
		`"words":["été","the","end",":","。","好日本","a","k","i","Ⓐ","ⓑ","` + strings.Repeat("é", 70) + `"]}`)))(t)
	texts := []string{"", "a", "Été: the\r\nEND 好日本。😀 the\r\n ́end  ", "İK K Ⓐⓐ Ⓑⓑ \u00a0a\u3000", "é\ufffd",
		strings.Repeat("É", 70) + " " + strings.Repeat("é", 71) + " a", "the\xff", "été\xc3", "\xe2\x82(",
		"a\xf0\x9f\x98"}
	bases := []string{"", "A", "AC\r\nGTu ryN--ACGTACGT", "ACGTXacg", "ACGT\xff", "é"}
	return map[Tokenizer][]string{Byte{}: texts, Pixel{}: texts, words: texts, DNA{1}: bases, DNA{3}: bases}
}

// encoded returns the ids or the error of a text in parts.
func encoded(t *testing.T, tokenizer Tokenizer, parts ...string) (ids []int32, text string) {
	s := must.Get(NewStream(tokenizer))(t)
	var err error
	for _, part := range parts {
		buffer := []byte(part)
		if ids, err = s.Append(ids, buffer); err != nil {
			return nil, err.Error()
		}
		clear(buffer) // the stream must not refer to the buffer after Append
	}
	if ids, err = s.End(ids); err != nil {
		return nil, err.Error()
	}
	return ids, ""
}

// TestStreams checks that a text has the same ids or the same error as a whole and in parts. It splits the
// text at every position, into characters and into bytes.
func TestStreams(t *testing.T) {
	for tokenizer, texts := range streamTokenizers(t) {
		for _, text := range texts {
			want, failed := []int32(nil), ""
			if ids, err := tokenizer.Encode(text); err != nil {
				failed = err.Error()
			} else {
				want = ids
			}
			check := func(parts ...string) {
				t.Helper()
				if ids, failure := encoded(t, tokenizer, parts...); !slices.Equal(ids, want) || failure != failed {
					t.Fatalf("%s, %q: ids %v and error %q in parts, want %v and %q as for the whole", tokenizer.Type(),
						parts, ids, failure, want, failed)
				}
			}
			for at := range len(text) + 1 {
				check(text[:at], text[at:])
				check(text[:at], "", text[at:])
			}
			check(strings.Split(text, "")...)
			var single []string
			for i := range len(text) {
				single = append(single, text[i:i+1])
			}
			check(single...)
		}
	}
}

// TestStreamsLong checks that a long random text has the same ids as a whole and in parts of random
// length, and that the stream needs little memory even for long words.
func TestStreamsLong(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	for tokenizer := range streamTokenizers(t) {
		chars := []rune("aaaathekéİ日😀 .\r\nＡ")
		if _, isDNA := tokenizer.(DNA); isDNA {
			chars = []rune("ACGTNacgt\n")
		}
		var text strings.Builder
		for range 200 {
			text.WriteString(strings.Repeat(string(chars[r.IntN(len(chars))]), 1+r.IntN(3)*r.IntN(2000)*r.IntN(2)))
		}
		want := must.Get(tokenizer.Encode(text.String()))(t)
		s, got := must.Get(NewStream(tokenizer))(t), []int32(nil)
		for rest := text.String(); rest != ""; {
			n := min(1+r.IntN(5000), len(rest))
			got = must.Get(s.Append(got, []byte(rest[:n])))(t)
			rest = rest[n:]
			if w, ok := s.(*wordStream); ok && (cap(w.word) > 1000 || cap(w.pending) > 2*utf8.UTFMax) {
				t.Fatalf("buffers of %d bytes for a word and %d for a character, want at most 1000 and %d",
					cap(w.word), cap(w.pending), 2*utf8.UTFMax)
			}
		}
		if got = must.Get(s.End(got))(t); !slices.Equal(got, want) {
			t.Errorf("%s: the %d ids of the parts differ from the %d ids of the whole text", tokenizer.Type(), len(got), len(want))
		}
	}
}

// TestNoStream checks the errors for tokenizers that need the whole text.
func TestNoStream(t *testing.T) {
	must.Fail(t, "the model has no tokenizer: a text in parts needs one of byte, dna, pixel, words")(NewStream(nil))
	for _, tokenizer := range []Tokenizer{ListOps{}, IDs{9}, MuLaw{}, &AudioVQ{}, &HF{}} {
		must.Fail(t, "tokenizer "+tokenizer.Type()+" needs the whole text: a text in parts needs one of byte, dna")(
			NewStream(tokenizer))
	}
	for _, name := range streaming {
		if !slices.Contains(Types(), name) {
			t.Errorf("%s is not a tokenizer", name)
		}
	}
	if want := len(Types()) - 5; len(streaming) != want {
		t.Errorf("%d tokenizers encode texts in parts, want %d: add the new one to the tests", len(streaming), want)
	}
}
