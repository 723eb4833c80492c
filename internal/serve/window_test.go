package serve

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/serve/batching"
)

// TestWindowCuts checks random windows. Invalid combinations are refused. Valid windows are in order,
// begin at most the given stride apart, and reach the end of the sequence unless the policy is head.
func TestWindowCuts(t *testing.T) {
	m := must.Get(load(t, "pre")())(t)
	defer m.Release()
	c := m.Scorer.Config()
	r := rand.New(rand.NewPCG(5, 6))
	for range 20000 {
		n := 1 + r.IntN(60)
		w := &window{Policy: windowPolicies[r.IntN(3)], Length: r.IntN(20), Stride: r.IntN(20)}
		switch r.IntN(3) {
		case 0:
			w.Stride = math.MaxInt - r.IntN(70)
		case 1:
			w.Length = math.MaxInt - r.IntN(70)
		}
		cuts, err := w.parts(c, &sequence{field: "tokens", tokens: randomTokens(r, n)})
		if length := w.Length; length > longest(c) || length > 0 && w.Stride > length || w.Stride > longest(c) {
			if err == nil {
				t.Fatalf("%+v: got no error", w)
			}
			continue
		}
		must.Succeed(t, err)
		for i, x := range cuts {
			if i > 0 && (x.start <= cuts[i-1].start || w.Stride > 0 && x.start-cuts[i-1].start > w.Stride) {
				t.Fatalf("%+v: window %d of %d tokens begins at %d, the previous window at %d; want a later begin, "+
					"by at most Stride if that is above 0", w, i, n, x.start, cuts[i-1].start)
			}
		}
		if last := cuts[len(cuts)-1]; w.Policy != "head" && last.start+last.First() != n {
			t.Fatalf("%+v: the last window does not reach the end of %d tokens", w, n)
		}
	}
}

// TestTooManyWindows checks that exactly maxWindows windows are accepted and one more is refused.
func TestTooManyWindows(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	w := &window{Policy: "sliding", Length: 1, Stride: 1}
	q := &sequence{field: "tokens", tokens: randomTokens(rand.New(rand.NewPCG(1, 1)), maxWindows)}
	if cuts, err := w.parts(s.current().config, q); err != nil || len(cuts) != maxWindows {
		t.Errorf("got %d windows, error %v, want maxWindows (%d)", len(cuts), err, maxWindows)
	}
	q.tokens = append(q.tokens, 1)
	must.Fail(t, "expected at most 4096 windows, found 4097")(w.parts(s.current().config, q))
}

// TestBadWindows checks the errors for invalid windows, in requests and in sequence/didOpen.
func TestBadWindows(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	c := dial(t, s).initialize(struct{}{})
	for n, x := range []struct{ window, why string }{
		{`{"policy":"sliding","length":4,"stride":9223372036854775807}`,
			"window.stride: expected at most 4 tokens"},
		{`{"policy":"sliding","length":4,"stride":5}`, "window.stride: expected at most 4 tokens"},
		{`{"policy":"sliding","stride":5000}`, "window.stride: expected at most 4096 tokens"},
		{`{"policy":"sliding","length":4,"stride":0}`, "window.stride: expected at least 1 token, found 0"},
		{`{"policy":"head","length":0}`, "window.length: expected at least 1 token, found 0"},
		{`{"policy":"head","length":-1}`, "window.length: expected at least 1 token, found -1"},
		{`{"policy":"head","length":"4"}`, "window.length: expected a whole number, found a string"},
		{`{"policy":"head","size":4}`, `window: expected policy, length, stride, found "size"`},
		{`{"policy":"tail","stride":1}`, `window.stride: expected only with the policy sliding, found with "tail"`},
		{`{"policy":""}`, `window.policy: expected one of "head", "tail", "sliding", found ""`},
		{`{}`, "window.policy: expected one of"},
		{`"head"`, `window: expected an object, found "head"`},
	} {
		w := json.RawMessage(x.window)
		c.expectError(n, "sequence/classify", map[string]any{"tokens": []int{1, 2, 3, 4, 5, 6, 7, 8}, "window": w},
			-32602, x.why)
		c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": "1 2 3 4 5 6 7 8", "window": w})
		var sent struct {
			Message string
			Error   struct{ Message string }
		}
		decode(t, c.message().Params, &sent)
		if !strings.Contains(sent.Message+sent.Error.Message, x.why) {
			t.Errorf("got %+v, want %s", sent, x.why)
		}
	}
}

// TestMemoryOfWindows checks that the result of many windows counts as at least three times the size of
// its JSON text, because the server keeps the values as well as the text.
func TestMemoryOfWindows(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	c := &call{session: &session{server: s, share: s.turns.Share(), log: s.log}, model: s.current()}
	q := &sequence{field: "tokens", tokens: randomTokens(rand.New(rand.NewPCG(1, 1)), 1000)}
	i := c.predictSequence(batching.Classify, q, &window{Policy: "sliding", Length: 1, Stride: 1})
	outputs := must.Get(s.current().Scorer.Examples(t.Context(), i.examples))(t)
	result := must.Get(i.result(outputs))(t)
	text, err := json.Marshal(result)
	if got := i.resultMemory(); err != nil || got < 3*int64(len(text)) {
		t.Errorf("got %d counted bytes for %d bytes of JSON, want at least three times", got, len(text))
	}
}

// TestPushSurvives checks that a panic in the classification of a document becomes an error.
func TestPushSurvives(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	c := &call{session: &session{server: s, share: s.turns.Share(), log: s.log}, model: &served{}, method: "a push"}
	if _, err := c.predictText(&sequence{field: "text", document: &document{}}, "1", nil); err == nil ||
		asError(err).Code != codeInternal {
		t.Errorf("got error %v, want code %d", err, codeInternal)
	}
	c.free(c.bytes)
}
