package tokenizers

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

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
		t.Errorf("round trip gives %q", got)
	}
	if got := (ListOps{}).Decode([]int32{0, 16, 17, -1}); got != "<pad> <unknown> <17> <-1>" {
		t.Errorf("strange ids decode as %q", got)
	}
}

func TestByte(t *testing.T) {
	text := "a\x00\xffé"
	tokens, err := Byte{}.Encode(text)
	if err != nil || !slices.Equal(tokens, []int32{98, 1, 256, 0xc3 + 1, 0xa9 + 1}) {
		t.Errorf("Encode = %v, %v", tokens, err)
	}
	if got := (Byte{}).Decode(append(tokens, 0, 257, -5)); got != text {
		t.Errorf("Decode = %q", got)
	}
}

func TestPixel(t *testing.T) {
	tokens, err := Pixel{}.Encode("\x00\x01\xff")
	if err != nil || !slices.Equal(tokens, []int32{0, 1, 255}) {
		t.Errorf("Encode = %v, %v", tokens, err)
	}
	if got := (Pixel{}).Decode(tokens); got != "0 1 255" {
		t.Errorf("Decode = %q", got)
	}
}

func TestNew(t *testing.T) {
	for name, vocab := range map[string]int{"byte": 257, "listops": 17, "pixel": 256} {
		tok, err := New(json.RawMessage(`{"type":"` + name + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		if tok.Type() != name || tok.VocabSize() != vocab || (tok.PadID() == nil) != (name == "pixel") {
			t.Errorf("%s: type %q, vocabulary %d", name, tok.Type(), tok.VocabSize())
		}
	}
	for spec, want := range map[string]string{
		`{"type":"dna"}`:              "known types: byte, listops, pixel",
		`{}`:                          `"type" is missing`,
		`{"type":3}`:                  "expected an object",
		``:                            "expected an object",
		`{"type":"byte","n":1}`:       "unknown field",
		`{"type":"byte"} {}`:          "found more",
		strings.Repeat("[", 10000):    "expected an object",
		`null`:                        "missing",
		`{"type":"byte"`:              "expected an object",
		`{"type":"` + "\xff" + `"}`:   "not known",
		`{"type":"byte","type":null}`: "missing",
	} {
		if _, err := New(json.RawMessage(spec)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%.30q): error %v, want %q", spec, err, want)
		}
	}
}
