package serve

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestWindowCuts: whatever a client asks for, what is read is within the sequence,
// to its end, and no window is left out.
func TestWindowCuts(t *testing.T) {
	m, err := load(t, "pre")()
	if err != nil {
		t.Fatal(err)
	}
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
		cuts, err := w.cut(c, &sequence{field: "tokens", tokens: randomTokens(r, n)})
		if w.Length > longest(c) {
			if err == nil {
				t.Fatalf("%+v is accepted", w)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range cuts {
			if i > 0 && (x.start <= cuts[i-1].start || w.Stride > 0 && x.start-cuts[i-1].start > w.Stride) {
				t.Fatalf("%+v: window %d of %d tokens begins at %d, the one before at %d", w, i, n, x.start, cuts[i-1].start)
			}
		}
		if last := cuts[len(cuts)-1]; w.Policy != "head" && last.start+len(last.tokens) != n {
			t.Fatalf("%+v: the end of %d tokens is not read", w, n)
		}
	}
}

// TestTooManyWindows: the count is right to the last.
func TestTooManyWindows(t *testing.T) {
	s := start(t, testOptions(t, "pre"))
	w := &window{Policy: "sliding", Length: 1, Stride: 1}
	q := &sequence{field: "tokens", tokens: randomTokens(rand.New(rand.NewPCG(1, 1)), maxWindows)}
	if cuts, err := w.cut(s.current().config, q); err != nil || len(cuts) != maxWindows {
		t.Errorf("%d windows, %v", len(cuts), err)
	}
	q.tokens = append(q.tokens, 1)
	if _, err := w.cut(s.current().config, q); err == nil || !strings.Contains(err.Error(), "4097 windows") {
		t.Error(err)
	}
}

// TestHugeStride: a request and a document that ask for one are answered.
func TestHugeStride(t *testing.T) {
	s := start(t, testOptions(t, "pre"))
	c := dial(t, s).initialize(struct{}{})
	w := json.RawMessage(`{"policy":"sliding","length":4,"stride":9223372036854775807}`)
	var x anyClassification
	c.call(1, "sequence/classify", map[string]any{"tokens": []int{1, 2, 3, 4, 5, 6, 7, 8}, "window": w}, &x)
	if len(x.Windows) != 2 || x.Windows[1].Start != 4 {
		t.Errorf("%+v", x.Windows)
	}
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": "1 2 3 4 5 6 7 8", "window": w})
	var p published
	decode(t, c.message().Params, &p)
	if p.Error != nil || len(p.Windows) != 2 || p.Windows[1].Start != 4 {
		t.Errorf("%+v", p)
	}
}

// TestPushSurvives: a mistake that panics in the classification of a document is
// an error.
func TestPushSurvives(t *testing.T) {
	s := start(t, testOptions(t, "pre"))
	c := &call{session: &session{server: s, log: s.log}, model: &served{}, method: "a push"}
	if _, err := c.classifyText(&sequence{field: "text"}, "1", nil); err == nil || asError(err).Code != codeInternal {
		t.Error(err)
	}
	c.free(c.bytes)
}
