package requests

import (
	"encoding/json"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/tokenizers"
)

// tag returns the output of a model that predicts the given tags with certainty.
func tag(tags ...int) (o sft.Output) {
	for _, tag := range tags {
		row := []float32{-99, -99, -99}
		row[tag] = 99
		o.Logits = append(o.Logits, row...)
	}
	return o
}

// byteTags returns the config of a model that tags bytes.
func byteTags() *sft.Config {
	return &sft.Config{
		Task: config.Tagging,
		Inputs: config.Inputs{VocabSize: 257, MaxLength: 100, PadTokenID: new(int32(0)),
			Tokenizer: json.RawMessage(`{"type":"byte"}`)},
		Head: config.Head{NumLabels: 3, LabelNames: []string{"O", "B-X", "I-X"}},
	}
}

// TestSpansOfBytes checks that each byte that is not valid UTF-8 counts as one character. The second text
// has 2¹⁸ of these bytes, so the test would take a long time if the running time were quadratic.
func TestSpansOfBytes(t *testing.T) {
	c := byteTags()
	p := NewParser(c, "", "f", 1)
	p.RecordOffsets = true
	for _, x := range []struct {
		text string
		tags []int
	}{
		{"a\x80b", []int{0, 1, 0}},
		{strings.Repeat("\x80", 1<<18), slices.Repeat([]int{1}, 1<<18)},
	} {
		n := len(x.text)
		r := &Request{Sequences: [][]int32{make([]int32, n)}, Lengths: []int{n}}
		p.RecordPositions(r, x.text, n)
		s := must.Get(NewSpans(c.Spans(tag(x.tags...).Logits), r))(t)
		at := 0
		for i, tag := range x.tags {
			if tag != 1 {
				continue
			}
			if at == len(s.Spans) || s.Spans[at].Start != i || s.Spans[at].End != i+1 {
				t.Fatalf("%.10q: span %d of %d: want a span at %d, got %.5v", x.text, at, len(s.Spans), i, s.Spans)
			}
			at++
		}
	}
}

// tokenizersWithOffsets returns tokenizers that report the text offsets of their tokens.
func tokenizersWithOffsets(t *testing.T) (out []tokenizers.Tokenizer) {
	for _, spec := range []string{`{"type":"byte"}`, `{"type":"dna"}`, `{"type":"words","words":["a"]}`} {
		x := must.Get(tokenizers.Open(json.RawMessage(spec), ""))(t)
		out = append(out, x)
	}
	return out
}

// TestOffsetsOfHead checks that the offsets of the first tokens equal their offsets in the whole text. The
// chunks end between or within tokens and characters.
func TestOffsetsOfHead(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "É", "€", "😀", " ", "-", "\x80", "\xe2\x82", "\xff", "\u0301", strings.Repeat("é", 700),
		strings.Repeat(" ", 900), strings.Repeat("\x80", 9)}
	texts := []string{"", " ", strings.Repeat("a", 3*chunkBytes), strings.Repeat("€", 2*chunkBytes),
		strings.Repeat(" ", 3*chunkBytes) + "a"}
	for range 30 {
		var text strings.Builder
		for text.Len() < 3*chunkBytes {
			text.WriteString(pieces[random.IntN(len(pieces))])
		}
		texts = append(texts, text.String())
	}
	for _, x := range tokenizersWithOffsets(t) {
		for _, text := range texts {
			all := must.Get(tokenizers.Offsets(x, text))(t)
			for _, n := range []int{0, 1, 2, len(all) / 2, len(all) - 1, len(all), len(all) + 1,
				random.IntN(len(all) + 1)} {
				n = max(n, 0)
				if got := offsets(x, text, n); !slices.Equal(got, all[:min(n, len(all))]) {
					t.Fatalf("%s, text %.40q: the first %d of %d offsets differ from those of the whole text", x.Type(),
						text, n, len(all))
				}
			}
		}
	}
}

// TestRecordPositionsMemory checks that RecordPositions needs little memory for a long text if the
// model reads only few of the text's tokens. The limit does not apply to the dna tokenizer. The test also
// checks the error for more tokens than the text has.
func TestRecordPositionsMemory(t *testing.T) {
	const size = 8 << 20
	for _, text := range []string{strings.Repeat("ab ", size/3), strings.Repeat("a", size/2) + strings.Repeat("-",
		size/2), strings.Repeat("-", size)} {
		for _, x := range tokenizersWithOffsets(t) {
			p := &Parser{Config: byteTags(), RecordOffsets: true, tokenizer: x}
			r := &Request{Sequences: [][]int32{{1, 2, 3, 4}}, Lengths: []int{size}}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			p.RecordPositions(r, text, 4)
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; x.Type() != "dna" && took > 1<<20 {
				t.Errorf("%s, text %.10q: allocated %d bytes, want at most 1 MiB", x.Type(), text, took)
			}
			s, err := NewSpans(p.Config.Spans(tag(1, 0, 0, 0).Logits), r)
			if text[0] == 'a' && x.Type() != "dna" && (err != nil || len(s.Spans) != 1) {
				t.Errorf("%s, text %.10q: got spans %v, error %v, want one span", x.Type(), text, s.Spans, err)
			}
		}
	}
	c := byteTags()
	p := NewParser(c, "", "f", 1)
	p.RecordOffsets = true
	r := &Request{Sequences: [][]int32{{1, 2}}, Lengths: []int{2}}
	p.RecordPositions(r, "a", 2)
	must.Fail(t, "the text positions of 2 tokens")(NewSpans(c.Spans(tag(1, 2).Logits), r))
}
