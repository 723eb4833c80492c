package report

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// explanation returns an explanation of n tokens. The token at index heavy has the pooling weight 3, all
// other tokens have 1. The only layer has sampled the first and the last token.
func explanation(n, heavy int) *sft.Explanation {
	e := &sft.Explanation{Pooling: make([]float32, n)}
	for i := range e.Pooling {
		e.Pooling[i] = 1
	}
	e.Pooling[heavy] = 3
	e.Layers = []sft.LayerExplanation{{Positions: []int32{0, int32(n - 1)}, Weights: []float32{1, 1},
		Mass: []float32{0.5, 0.1}}}
	return e
}

func tokenizer(t *testing.T, spec string) tokenizers.Tokenizer {
	t.Helper()
	return must.Get(tokenizers.New(json.RawMessage(spec)))(t)
}

// texts returns the pieces of a text, joined by ‖.
func texts(t *testing.T, spec, text string) string {
	t.Helper()
	k := tokenizer(t, spec)
	tokens := must.Get(k.Encode(text))(t)
	v := must.Get(newSequenceView(k, tokens, explanation(len(tokens), 1)))(t)
	var out []string
	for _, p := range v.Text {
		word := p.Text
		if p.Space {
			word = " " + word
		}
		out = append(out, word)
	}
	return strings.Join(out, "‖")
}

// TestPieces checks that the tokens of one character are joined, even if the character is incomplete. All
// other tokens, such as words, must be separate.
func TestPieces(t *testing.T) {
	for _, c := range []struct{ spec, text, want string }{
		{`{"type":"byte"}`, "aé€\n\x01\xff", "a‖é‖€‖↵\n‖\u2401‖‹ff›"},
		{`{"type":"byte"}`, "x\xe2\x82", "x‖‹e2›‹82›"},
		{`{"type":"listops"}`, "[MAX 2 9 ]", "[MAX‖ 2‖ 9‖ ]"},
		{`{"type":"dna"}`, "ACGT", "A‖C‖G‖T"},
	} {
		if got := texts(t, c.spec, c.text); got != c.want {
			t.Errorf("%s %q: got %q, want %q", c.spec, c.text, got, c.want)
		}
	}
}

// TestLongText checks that a long text is shown near its largest weights only, and that omitted
// tokens are counted.
func TestLongText(t *testing.T) {
	const n = 100_000
	k := tokenizer(t, `{"type":"byte"}`)
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = 'a' + 1
	}
	tokens[50_000] = 'X' + 1
	v := must.Get(newSequenceView(k, tokens, explanation(n, 50_000)))(t)
	shown, out, found := 0, 0, false
	for _, p := range v.Text {
		shown, out = shown+len(p.Text), out+p.LeftOut
		found = found || p.Text == "X" && strings.Contains(p.Title, "position 50000, pooling 3") &&
			strings.Contains(string(p.Style), "0.75")
	}
	if shown+out != n || shown > maxHeaviest*2*contextTokens || !found || !v.Part {
		t.Errorf("got %d tokens shown, %d left out, heaviest token shown %v, part %v; want at most %d shown of %d",
			shown, out, found, v.Part, maxHeaviest*2*contextTokens, n)
	}
	if size := len(v.Strip.Scene().Inline()); size > 30_000 {
		t.Errorf("got a strip of %d bytes, want at most 30,000", size)
	}
}

// TestPicture checks the pixels of an image's panels, and that other numeric sequences have a strip.
func TestPicture(t *testing.T) {
	tokens := make([]int32, 32*32)
	for i := range tokens {
		tokens[i] = int32(i % 256)
	}
	v := must.Get(newSequenceView(tokenizers.Pixel{}, tokens, explanation(len(tokens), 77)))(t)
	if v.Image == nil || v.Strip != nil || v.Text != nil || len(v.Image.Panels) != 3 {
		t.Fatalf("got %+v, want an image with three panels", v)
	}
	colorAt := func(panel, token int) (r, g, b uint32) {
		text, found := strings.CutPrefix(string(v.Image.Panels[panel].Image), "data:image/png;base64,")
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil || !found {
			t.Fatalf("panel %d: got URL %.60q, want a PNG in base64 (error %v)", panel, text, err)
		}
		img := must.Get(png.Decode(bytes.NewReader(data)))(t)
		r, g, b, _ = img.At(token%32, token/32).RGBA()
		return r >> 8, g >> 8, b >> 8
	}
	if r, g, b := colorAt(0, 77); r != 77 || g != 77 || b != 77 {
		t.Errorf("pixel 77 of the input is %d %d %d, want grey 77", r, g, b)
	}
	if r, _, b := colorAt(1, 0); r != uint32(sampledColor.R) || b != uint32(sampledColor.B) { // largest mass
		t.Errorf("sampled pixel 0 has red %d, blue %d, want sampledColor", r, b)
	}
	if r, _, b := colorAt(1, 1); r != b {
		t.Errorf("unsampled pixel 1 has red %d, blue %d, want grey", r, b)
	}
	if r, g, b := colorAt(2, 77); r != uint32(poolingColor.R) || g != uint32(poolingColor.G) ||
		b != uint32(poolingColor.B) {
		t.Errorf("the pixel with the largest weight is %d %d %d, want poolingColor", r, g, b)
	}
	// Pixels that do not form a square, and audio samples, are drawn as levels.
	for _, k := range []tokenizers.Tokenizer{tokenizers.Pixel{}, tokenizers.MuLaw{}} {
		v, err := newSequenceView(k, tokens[:1000], explanation(1000, 1))
		if err != nil || v.Image != nil || v.Text != nil || v.Strip.Rows[0].Name != "tokens" {
			t.Errorf("%s: got %+v, %v, want a strip of tokens", k.Type(), v, err)
		}
	}
}

// TestShortSequences checks that sequences of one to three tokens have a valid strip.
func TestShortSequences(t *testing.T) {
	for n := 1; n < 4; n++ {
		s := newStrip(n, explanation(n, 0), make([]int32, n))
		if text := string(s.Scene().Inline()); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") ||
			!strings.Contains(text, ">layer 1</text>") || !strings.Contains(text, ">0</text>") {
			t.Errorf("%d tokens: got %s, want labels and finite numbers", n, text)
		}
	}
}

// TestIDs checks that tokens without a known tokenizer are shown as numbers.
func TestIDs(t *testing.T) {
	var r Run
	tokens := []int32{7, 300, 12}
	v := must.Get(newSequenceView(r.decoder(), tokens, explanation(len(tokens), 1)))(t)
	var shown []string
	for _, p := range v.Text {
		shown = append(shown, p.Text)
	}
	if !slices.Equal(shown, []string{"7", "300", "12"}) || !v.Text[1].Space {
		t.Errorf("got %q, want the ids 7, 300 and 12", shown)
	}
}
