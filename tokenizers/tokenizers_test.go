package tokenizers

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// TestListOps checks the ids of ListOps expressions, and the text of ids outside the vocabulary.
func TestListOps(t *testing.T) {
	for _, c := range []struct {
		text string
		want []int32
	}{
		{"[MAX 2 9 ]", []int32{12, 3, 10, 15}},
		{"( ( ( [MAX 2 ) 9 ) ] )", []int32{12, 3, 10, 15}},
		{"(((([MAX) 2) 9) X)", []int32{12, 3, 10, 15}},
		{"[MIN [MED [SM 0 \t1\n", []int32{11, 13, 14, 1, 2}},
		{"[FIRST 10 4] max", []int32{16, 16, 5, 15, 16}},
		{"  ", []int32{}},
		{"", []int32{}},
	} {
		got, err := ListOps{}.Encode(c.text)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("Encode(%q) = %v, %v; want %v", c.text, got, err, c.want)
		}
	}
	const text = "[SM [MIN 0 1 ] [MED 2 3 ] [MAX 4 5 6 7 8 9 ] ]"
	tokens, _ := ListOps{}.Encode(text)
	if got := (ListOps{}).Decode(tokens); got != text {
		t.Errorf("Decode = %q, want the encoded text", got)
	}
	if got := (ListOps{}).Decode([]int32{0, 16, 17, -1}); got != "<pad> <unknown> <17> <-1>" {
		t.Errorf("Decode = %q, want %q", got, "<pad> <unknown> <17> <-1>")
	}
}

// FuzzListOps compares Encode, for any text, with a direct implementation: the Long Range Arena's
// definition, with white space around each closing bracket.
func FuzzListOps(f *testing.F) {
	for _, text := range []string{"[MAX 2 9 ]", "(((([MAX) 2) 9)]]X)", "[M(A)X\t2]3 ]]\u00a0(]", ")(", "] ]"} {
		f.Add(text)
	}
	rewrite := strings.NewReplacer("]", " X ", "(", "", ")", "")
	f.Fuzz(func(t *testing.T, text string) {
		defer testenv.FuzzLimits(t, 1<<20+200*len(text))()
		got, err := ListOps{}.Encode(text)
		words := strings.Fields(rewrite.Replace(text))
		if err != nil || len(got) != len(words) || cap(got) != len(got) {
			t.Fatalf("%d tokens with capacity %d, error %v; want %d", len(got), cap(got), err, len(words))
		}
		for i, word := range words {
			if id, ok := listOpsIDs[word]; ok && got[i] != id || !ok && got[i] != ListOpsUnknown {
				t.Fatalf("%q has the id %d, want %d or, for an unknown word, %d", word, got[i], id, ListOpsUnknown)
			}
		}
	})
}

// TestScratch checks that Encode of the byte, dna, listops and pixel tokenizers allocates at most Scratch
// bytes per byte of text, besides the ids.
func TestScratch(t *testing.T) {
	const n = 1 << 20
	for _, tokenizer := range []Tokenizer{Byte{}, DNA{3}, ListOps{}, Pixel{}} {
		for _, part := range []string{"a", "1 ", "]", "( ", "A\n", "é", "漢", "🙂", "\x00"} {
			text := strings.Repeat(part, n/len(part))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			tokenizer.Encode(text)
			runtime.ReadMemStats(&after)
			if used, limit := after.TotalAlloc-before.TotalAlloc, uint64(n*(4+Scratch(tokenizer))); used > limit {
				t.Errorf("%s: encoding %d bytes of %q takes %d bytes of memory, want at most %d", tokenizer.Type(), n,
					part, used, limit)
			}
		}
	}
}

func TestByte(t *testing.T) {
	text := "a\x00\xffé"
	tokens, err := Byte{}.Encode(text)
	if err != nil || !slices.Equal(tokens, []int32{98, 1, 256, 0xc3 + 1, 0xa9 + 1}) {
		t.Errorf("Encode = %v, error %v; want the bytes plus 1", tokens, err)
	}
	if got := (Byte{}).Decode(append(tokens, 0, 257, -5)); got != text {
		t.Errorf("Decode = %q, want %q", got, text)
	}
}

func TestPixel(t *testing.T) {
	tokens, err := Pixel{}.Encode("\x00\x01\xff")
	if err != nil || !slices.Equal(tokens, []int32{0, 1, 255}) {
		t.Errorf("Encode = %v, error %v; want 0, 1, 255", tokens, err)
	}
	if got := (Pixel{}).Decode(tokens); got != "0 1 255" {
		t.Errorf("Decode = %q, want %q", got, "0 1 255")
	}
}

func TestIDs(t *testing.T) {
	tok, err := New(json.RawMessage(`{"type": "ids", "vocab": 1000}`))
	if err != nil || tok.VocabSize() != 1000 || tok.PadID() != nil {
		t.Fatalf("tokenizer %v, error %v; want a vocabulary of 1000 without a pad id", tok, err)
	}
	for text, want := range map[string][]int32{"0 7\t999\n": {0, 7, 999}, " [1, 2,3] ": {1, 2, 3},
		"4,5": {4, 5}, "": {}, "[]": {}} {
		if got, err := tok.Encode(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("Encode(%q) = %v, error %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"1 1000": `number 2: expected a token id from 0 to 999, found "1000"`, "-1": `number 1`,
		"1.5": `"1.5"`, "[1, 2": `"[1"`,
		"99999999999": `"99999999999"`, "+1": `"+1"`,
	} {
		if got, err := tok.Encode(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Encode(%q) = %v, error %v; want an error that contains %q", text, got, err, want)
		}
	}
	if got := tok.Decode([]int32{3, 0, 12}); got != "3 0 12" {
		t.Errorf("Decode = %q, want %q", got, "3 0 12")
	}
	must.Fail(t, "vocab: expected 1 to")(New(json.RawMessage(`{"type": "ids"}`)))
}

// TestDNA checks the ids of bases and of k-mers, and their decoding.
func TestDNA(t *testing.T) {
	for _, c := range []struct {
		k    int
		text string
		want []int32
		back string
	}{
		{1, "ACGTU acgtu\nNRx-", []int32{0, 1, 2, 3, 3, 0, 1, 2, 3, 3, 4, 4, 4}, "ACGTTACGTTNNN"},
		{2, "ACGT", []int32{1, 6, 11}, "ACGT"},
		{3, "ACGTTN ACGT", []int32{6, 27, 47, 64, 64, 64, 6, 27}, "ACGTTNNNGT"},
		{3, "AC", []int32{}, ""},
		{1, "", []int32{}, ""},
	} {
		tok := DNA{c.k}
		got, err := tok.Encode(c.text)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("k %d: Encode(%q) = %v, %v; want %v", c.k, c.text, got, err, c.want)
		}
		if back := tok.Decode(got); back != c.back {
			t.Errorf("k %d: Decode(%v) = %q, want %q", c.k, got, back, c.back)
		}
	}
	must.Fail(t, "byte 2: expected a base (A, C, G, T, U or an ambiguity code such as N), found 'E'")((DNA{1}).Encode("ACE"))
	for k, vocab := range map[int]int{1: 5, 6: 4097, 11: 4194305} {
		tok := must.Get(New(fmt.Appendf(nil, `{"type":"dna","k":%d}`, k)))(t, "k", k)
		if tok.VocabSize() != vocab || tok.PadID() != nil {
			t.Errorf("k %d: vocabulary %d, pad id %v, want %d without a pad id", k, tok.VocabSize(), tok.PadID(), vocab)
		}
	}
}

// FuzzDNA checks that all ids are in the vocabulary, and that decoding and encoding again results in
// the same number of tokens.
func FuzzDNA(f *testing.F) {
	f.Add("ACGTNacgu", 3)
	f.Fuzz(func(t *testing.T, text string, k int) {
		defer testenv.FuzzLimits(t, 1<<20+100*len(text))()
		tok := DNA{1 + (k%maxBases+maxBases)%maxBases}
		tokens, err := tok.Encode(text)
		if err != nil {
			return
		}
		for _, id := range tokens {
			if id < 0 || int(id) >= tok.VocabSize() {
				t.Fatalf("id %d, want one below %d", id, tok.VocabSize())
			}
		}
		if again, err := tok.Encode(tok.Decode(tokens)); err != nil || len(again) != len(tokens) {
			t.Fatalf("%d tokens, %d after decoding and encoding again, error %v", len(tokens), len(again), err)
		}
	})
}

// TestNew checks the tokenizers without settings, and the errors for invalid JSON.
func TestNew(t *testing.T) {
	for name, vocab := range map[string]int{"byte": 257, "listops": 17, "pixel": 256} {
		tok := must.Get(New(json.RawMessage(`{"type":"` + name + `"}`)))(t)
		if tok.Type() != name || tok.VocabSize() != vocab || (tok.PadID() == nil) != (name == "pixel") {
			t.Errorf("%s: type %q, vocabulary %d, pad %v; want a vocabulary of %d, and a pad id except for pixel", name,
				tok.Type(), tok.VocabSize(), tok.PadID(), vocab)
		}
	}
	for spec, want := range map[string]string{
		`{"type":"rna"}`:              "expected one of audio-vq, byte, dna, hf, ids, listops, mulaw, pixel, words",
		`{}`:                          `"type" is missing`,
		`{"type":3}`:                  "expected an object",
		``:                            "expected an object",
		`{"type":"byte","n":1}`:       "unknown field",
		`{"type":"dna","k":12}`:       "expected 1 to 11, found 12",
		`{"type":"dna","k":0}`:        "expected 1 to 11, found 0",
		`{"type":"dna","k":"6"}`:      "expected an object",
		`{"type":"dna","n":6}`:        "unknown field",
		`{"type":"byte"} {}`:          "found more",
		`{"type":"byte"}}`:            "found more",
		strings.Repeat("[", 10000):    "expected an object",
		`null`:                        "missing",
		`{"type":"byte"`:              "expected an object",
		`{"type":"` + "\xff" + `"}`:   "expected one of",
		`{"type":"byte","type":null}`: "missing",
	} {
		must.Fail(t, want, "New(", spec, ")")(New(json.RawMessage(spec)))
	}
}
