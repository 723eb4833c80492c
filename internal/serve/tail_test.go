package serve

import (
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// tailOptions returns options for a model that reads the first 6 and the last 4 tokens of longer
// sequences.
func tailOptions(t testing.TB, model string) Options {
	o := testOptions(t, model)
	o.Load = func() (*Model, error) {
		m, err := sft.Load(filepath.Join(goldenDir, model))
		if err != nil {
			return nil, err
		}
		m.Config.SetReadWindow(seq.Window{Length: 10, Tail: 4})
		return onCPU(m, model)
	}
	return o
}

// endTokens returns the tokens that the model of [tailOptions] reads.
func endTokens(tokens []int32) []int32 {
	return slices.Concat(tokens[:6], tokens[len(tokens)-4:])
}

// TestTail checks that a long sequence has the same logits as a sequence of only its first and last
// tokens, and that positions and pooling weights in explanations refer to the whole sequence.
func TestTail(t *testing.T) {
	s := startServer(t, tailOptions(t, "pre"))
	c := dial(t, s).initialize(struct{}{})
	tokens := randomTokens(rand.New(rand.NewPCG(1, 2)), 30)
	var long, short struct {
		explainedResponse
		Length, Used int
	}
	c.call(1, "sequence/classify", map[string]any{"tokens": tokens, "explain": true}, &long)
	c.call(2, "sequence/classify", map[string]any{"tokens": endTokens(tokens), "explain": true}, &short)
	if long.Length != 30 || long.Used != 10 || !slices.Equal(long.Logits, short.Logits) {
		t.Errorf("got %+v, want the logits %v of 10 of 30 tokens", long, short.Logits)
	}
	want := *short.Explain
	for _, l := range want.Layers {
		for i, p := range l.Positions {
			if p >= 6 {
				l.Positions[i] = p + 20
			}
		}
	}
	want.Pooling = slices.Concat(want.Pooling[:6], make([]float32, 20), want.Pooling[6:])
	expectExplanation(t, "both ends", long.Explain, want)
	var head explainedResponse
	c.call(3, "sequence/classify", map[string]any{"tokens": tokens, "explain": true,
		"window": map[string]any{"policy": "head"}}, &head)
	expectExplanation(t, "a window of the request", head.Explain,
		explanations(t, s, 0, seq.Example{A: tokens[:10]})[0])
}

// TestTailOfPairs checks that both sequences of a pair are cut, and that each has a separate
// explanation.
func TestTailOfPairs(t *testing.T) {
	s := startServer(t, tailOptions(t, "retrieval"))
	c := dial(t, s).initialize(struct{}{})
	a, b := slices.Repeat([]int32{65, 66, 67}, 5), slices.Repeat([]int32{70, 71}, 10)
	var long, short explainedResponse
	c.call(1, "retrieval/score", map[string]any{"tokens_a": a, "tokens_b": b, "explain": true}, &long)
	c.call(2, "retrieval/score", map[string]any{"tokens_a": endTokens(a), "tokens_b": endTokens(b), "explain": true},
		&short)
	if !slices.Equal(long.Logits, short.Logits) {
		t.Errorf("got the logits %v, want %v", long.Logits, short.Logits)
	}
	if n, m := len(long.ExplainA.Pooling), len(long.ExplainB.Pooling); n != 15 || m != 20 {
		t.Errorf("got %d and %d weights, want 15 and 20", n, m)
	}
	for _, l := range long.ExplainB.Layers {
		for _, p := range l.Positions {
			if p >= 6 && p < 16 {
				t.Errorf("got the position %d of a token that is not read", p)
			}
		}
	}
}

// TestTailOfDocument checks the logits of a document after edits at its head, in its middle, which
// the model does not read, and at its tail.
func TestTailOfDocument(t *testing.T) {
	s := startServer(t, tailOptions(t, "pre"))
	c := dial(t, s).initialize(struct{}{})
	text := "[MAX 2 9 [MIN 4 7 1 3 5 0 2 8 ] 0 1 6 ]"
	logits := func(params map[string]any) (a explainedResponse) {
		c.call(rand.Int(), "sequence/classify", params, &a)
		return a
	}
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": text})
	last := logits(map[string]any{"uri": "u"}).Logits
	for i, edit := range []struct {
		name     string
		from     int
		changes  bool
		replaced byte
	}{{"head", 5, true, '7'}, {"middle", 18, false, '9'}, {"tail", len(text) - 5, true, '4'}} {
		changed := []byte(text)
		changed[edit.from] = edit.replaced
		text = string(changed)
		c.notify("sequence/didChange", map[string]any{"uri": "u", "version": i + 2, "changes": []any{map[string]any{
			"range": map[string]int{"start": edit.from, "end": edit.from + 1}, "text": string(edit.replaced)}}})
		got, want := logits(map[string]any{"uri": "u"}).Logits, logits(map[string]any{"text": text}).Logits
		if !slices.Equal(got, want) || reflect.DeepEqual(got, last) == edit.changes {
			t.Errorf("%s: got the logits %v after %v, want %v", edit.name, got, last, want)
		}
		last = got
	}
	c.notify("sequence/didChange", map[string]any{"uri": "u", "version": 5,
		"changes": []any{map[string]any{"text": text}}})
	for pushed := 0; pushed != 5; {
		m := c.message()
		var p struct {
			Version int
			Used    int
			Logits  []float32
		}
		must.Succeed(t, json.Unmarshal(m.Params, &p))
		if pushed = p.Version; pushed == 5 && (p.Used != 10 || !slices.Equal(p.Logits, last)) {
			t.Errorf("got the publication %+v, want the logits %v", p, last)
		}
	}
}
