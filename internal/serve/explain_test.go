package serve

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// explainedResponse is the response to a request with "explain": true.
type explainedResponse struct {
	Label         any
	Logits        []float32
	Probabilities []float32
	Explain       *sft.Explanation
	ExplainA      *sft.Explanation `json:"explain_a"`
	ExplainB      *sft.Explanation `json:"explain_b"`
	Version       *int64
	Windows       []struct {
		Start, End int
		Logits     []float32
		Explain    *sft.Explanation
	}
}

// explanations returns the scorer's explanations of e, with positions shifted by start.
func explanations(t testing.TB, s *Server, start int, e seq.Example) []sft.Explanation {
	t.Helper()
	out := must.Get(s.model.Scorer.Explain(context.Background(), []seq.Example{e}))(t)
	shift(out, []windowPart{{start: start}})
	return out[0].Explanations
}

func expectExplanation(t *testing.T, name string, got *sft.Explanation, want sft.Explanation) {
	t.Helper()
	if got == nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("%s: got %+v, want %+v", name, got, want)
	}
}

// TestExplain checks that "explain" does not change the rest of a response, and that the
// explanation equals the scorer's for tokens, documents and list elements.
func TestExplain(t *testing.T) {
	testenv.NoRace(t, "computes many explanations")
	s := startServer(t, testOptions(t, "pre"))
	c := dial(t, s).initialize(struct{}{})
	random := rand.New(rand.NewPCG(1, 2))
	const n = 40
	tokens := make([][]int32, n)
	for i := range tokens {
		tokens[i] = randomTokens(random, 1+random.IntN(200))
		c.request(fmt.Sprint("plain ", i), "sequence/classify", map[string]any{"tokens": tokens[i], "explain": false})
		c.request(fmt.Sprint("explained ", i), "sequence/classify",
			map[string]any{"tokens": tokens[i], "explain": true})
	}
	plain, explained := make([]explainedResponse, n), make([]explainedResponse, n)
	for range 2 * n {
		m, i := c.message(), 0
		if m.Error != nil {
			t.Fatalf("request %s: error %+v", m.ID, m.Error)
		}
		into := plain
		if _, err := fmt.Sscanf(string(m.ID), `"explained %d"`, &i); err == nil {
			into = explained
		} else if _, err := fmt.Sscanf(string(m.ID), `"plain %d"`, &i); err != nil {
			t.Fatalf(`got id %s, want "explained N" or "plain N"`, m.ID)
		}
		decode(t, m.Result, &into[i])
	}
	for i, x := range explained {
		expectExplanation(t, fmt.Sprint(i), x.Explain, explanations(t, s, 0, seq.Example{A: tokens[i]})[0])
		if x.Explain = nil; !reflect.DeepEqual(x, plain[i]) {
			t.Errorf("request %d: got %+v with explain, %+v without", i, x, plain[i])
		}
	}

	want := explanations(t, s, 0, seq.Example{A: []int32{12, 3, 10, 15}})[0]
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 3, "text": "[MAX 2 9 ]"})
	var x explainedResponse
	c.call("uri", "sequence/classify", map[string]any{"uri": "u", "explain": true}, &x)
	if expectExplanation(t, "uri", x.Explain, want); x.Version == nil || *x.Version != 3 {
		t.Errorf("got version %v, want 3", x.Version)
	}
	var many struct {
		Results []struct{ Result explainedResponse }
	}
	c.call("many", "sequence/classify",
		map[string]any{"sequences": []any{map[string]any{"text": "[MAX 2 9 ]"},
			map[string]any{"text": "[MAX 2 9 ]", "explain": true}}}, &many)
	if expectExplanation(t, "many", many.Results[1].Result.Explain, want); many.Results[0].Result.Explain != nil {
		t.Error("the element without explain has an explanation")
	}
}

// TestExplainWindows checks that every window has its own explanation, with positions in the whole
// sequence.
func TestExplainWindows(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	c := dial(t, s).initialize(struct{}{})
	tokens := randomTokens(rand.New(rand.NewPCG(3, 4)), 100)
	for policy, from := range map[string]int{"head": 0, "tail": 70} {
		var x explainedResponse
		c.call(policy, "sequence/classify", map[string]any{"tokens": tokens, "explain": true,
			"window": map[string]any{"policy": policy, "length": 30}}, &x)
		expectExplanation(t, policy, x.Explain, explanations(t, s, from, seq.Example{A: tokens[from : from+30]})[0])
	}
	var x explainedResponse
	c.call("sliding", "sequence/classify", map[string]any{"tokens": tokens, "explain": true,
		"window": map[string]any{"policy": "sliding", "length": 30, "stride": 20}}, &x)
	if x.Explain != nil || len(x.Windows) != 5 {
		t.Fatalf("got %d windows and explanation %+v of the sequence, want 5 and none", len(x.Windows), x.Explain)
	}
	for _, w := range x.Windows {
		expectExplanation(t, fmt.Sprint(w.Start), w.Explain,
			explanations(t, s, w.Start, seq.Example{A: tokens[w.Start:w.End]})[0])
		if last := w.Explain.Layers[0].Positions; int(last[0]) < w.Start || int(last[len(last)-1]) >= w.End {
			t.Errorf("got positions %v, want the first at least %d and the last below %d", last, w.Start, w.End)
		}
		if !slices.Equal(w.Logits, logits(t, s, tokens[w.Start:w.End])) {
			t.Errorf("window %d: got logits %v, want those of its tokens alone", w.Start, w.Logits)
		}
	}
}

// TestExplainPair checks the explanations of both sequences of a pair.
func TestExplainPair(t *testing.T) {
	s := startServer(t, testOptions(t, "retrieval"))
	c := dial(t, s).initialize(struct{}{})
	pair := map[string]any{"tokens_a": []int32{1, 2, 3}, "tokens_b": []int32{4, 5, 6, 7, 8}}
	var plain, x explainedResponse
	c.call(1, "retrieval/score", pair, &plain)
	pair["explain"] = true
	c.call(2, "retrieval/score", pair, &x)
	want := explanations(t, s, 0, seq.Example{A: []int32{1, 2, 3}, B: []int32{4, 5, 6, 7, 8}})
	expectExplanation(t, "a", x.ExplainA, want[0])
	expectExplanation(t, "b", x.ExplainB, want[1])
	if x.ExplainA, x.ExplainB = nil, nil; !reflect.DeepEqual(x, plain) {
		t.Errorf("got %+v with explain, %+v without", x, plain)
	}
}

// TestExplainRefused checks the errors of "explain": a value that is not a boolean, a request above
// --max-memory and a cancelled request.
func TestExplainRefused(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxMemory = 1 << 20
	s := startServer(t, o)
	c := dial(t, s).initialize(struct{}{})
	c.expectError(1, "sequence/classify", map[string]any{"tokens": []int{1}, "explain": "yes"}, -32602,
		`explain: expected true or false, found "yes"`)
	var many struct {
		Results []struct{ Error *struct{ Message string } }
	}
	c.call(2, "sequence/classify", map[string]any{"sequences": []any{map[string]any{"tokens": []int{1}, "explain": 1}}},
		&many)
	if e := many.Results[0].Error; e == nil ||
		!strings.HasPrefix(e.Message, "sequences[0].explain: expected true or false") {
		t.Errorf("got error %+v, want one about sequences[0].explain", e)
	}
	c.expectError(3, "sequence/classify", map[string]any{"text": strings.Repeat("1 ", 5000), "explain": true,
		"window": map[string]any{"policy": "sliding", "length": 4000, "stride": 1}}, -32602, "--max-memory")
	release := blockBatches(s)
	c.request(4, "sequence/classify", map[string]any{"tokens": []int{1, 2}, "explain": true})
	eventually(t, "no batch runs", func() bool { _, _, running := queueState(s); return running == 1 })
	c.notify("$/cancelRequest", map[string]any{"id": 4})
	if m := c.response(4); m.Error == nil || m.Error.Code != -32800 {
		t.Errorf("got %+v, want error -32800", m)
	}
	eventually(t, "the batch still runs", func() bool { jobs, _, running := queueState(s); return running+jobs == 0 })
	close(release)
	pairs := dial(t, startServer(t, testOptions(t, "retrieval"))).initialize(struct{}{})
	pairs.expectError(1, "retrieval/score", map[string]any{"text_a": "a", "text_b": "b", "explain": []int{}}, -32602,
		"explain: expected true or false, found a list")
}

// TestExplainOtherTasks checks that the methods of regression, multi-label and tagging models
// support "explain".
func TestExplainOtherTasks(t *testing.T) {
	for folder, method := range map[string]string{"regression": "sequence/predict", "multilabel": "sequence/labels",
		"tagging": "sequence/tag"} {
		s := startServer(t, testOptions(t, folder))
		c := dial(t, s).initialize(nil)
		tokens := []int32{12, 3, 10, 15}
		var plain, with map[string]any
		c.call(1, method, map[string]any{"tokens": tokens}, &plain)
		c.call(2, method, map[string]any{"tokens": tokens, "explain": true}, &with)
		if delete(with, "explain"); !reflect.DeepEqual(with, plain) {
			t.Errorf("%s: got %v with explain, %v without", folder, with, plain)
		}
		var got struct{ Explain *sft.Explanation }
		c.call(3, method, map[string]any{"tokens": tokens, "explain": true}, &got)
		expectExplanation(t, folder, got.Explain, explanations(t, s, 0, seq.Example{A: tokens})[0])
	}
}

// TestShiftedPlaces checks that shift moves the places of n-grams from the window to the whole
// sequence.
func TestShiftedPlaces(t *testing.T) {
	o := []sft.Output{{Explanations: []sft.Explanation{{Linear: &sft.LinearExplanation{
		NGrams: []sft.NGramExplanation{{Places: [][2]int32{{0, 2}, {5, 6}}}}}}}}}
	shift(o, []windowPart{{start: 10}})
	if got := o[0].Explanations[0].Linear.NGrams[0].Places; !slices.Equal(got, [][2]int32{{10, 12}, {15, 16}}) {
		t.Errorf("got places %v, want [[10 12] [15 16]]", got)
	}
}

// TestShiftChunks checks that shift moves the chunks of a window and their positions to the whole
// sequence.
func TestShiftChunks(t *testing.T) {
	chunks := []sft.ChunkExplanation{{Start: 0, End: 3, Positions: []int32{0, 2}},
		{Start: 3, End: 4, Positions: []int32{3}}}
	shift([]sft.Output{{Explanations: []sft.Explanation{{Chunks: chunks}}}}, []windowPart{{start: 10}})
	want := []sft.ChunkExplanation{{Start: 10, End: 13, Positions: []int32{10, 12}},
		{Start: 13, End: 14, Positions: []int32{13}}}
	if !reflect.DeepEqual(chunks, want) {
		t.Errorf("got %v, want %v", chunks, want)
	}
}
