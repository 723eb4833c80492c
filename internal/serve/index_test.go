package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
)

// optionsWithIndex returns options with an index in a temporary directory.
func optionsWithIndex(t testing.TB, model string) Options {
	o := testOptions(t, model)
	o.Index = filepath.Join(t.TempDir(), "index.arrow")
	return o
}

// TestAddInOrder checks that the last of several items with the same id in one request wins, even
// if earlier items take longer to embed.
func TestAddInOrder(t *testing.T) {
	s := startServer(t, optionsWithIndex(t, "pre"))
	c := dial(t, s).initialize(struct{}{})
	for n := range 10 {
		var items []any
		for k := range 8 {
			items = append(items, map[string]any{"id": "a", "tokens": repeatedToken(1000 - 100*k)})
		}
		c.call(n, "retrieval/add", map[string]any{"items": items}, nil)
		var found struct{ Items []searchItem }
		c.call("search", "retrieval/search", map[string]any{"tokens": repeatedToken(300)}, &found)
		if len(found.Items) != 1 || found.Items[0].Cosine < 1-1e-9 {
			t.Fatalf("round %d: got %+v, want the last item only", n, found)
		}
	}
}

func repeatedToken(n int) []int32 {
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = int32(1 + i%7)
	}
	return tokens
}

// TestAddCancelled checks that no items are added after the response to a cancelled request.
func TestAddCancelled(t *testing.T) {
	s := startServer(t, optionsWithIndex(t, "pre"))
	release := blockBatches(s)
	c := dial(t, s).initialize(struct{}{})
	var items []any
	for k := range 50 {
		items = append(items, map[string]any{"id": k, "tokens": []int{1, 2}})
	}
	c.request(1, "retrieval/add", map[string]any{"items": items})
	eventually(t, "no batch runs", func() bool { _, _, running := queueState(s); return running > 0 })
	c.notify("$/cancelRequest", map[string]any{"id": 1})
	if m := c.response(1); m.Error == nil || m.Error.Code != -32800 {
		t.Errorf("got %+v, want error -32800", m)
	}
	n := s.index.Len()
	close(release)
	c.call(2, "retrieval/add", map[string]any{"id": "x", "tokens": []int{1}}, nil)
	if got := s.index.Len(); got != n+1 {
		t.Errorf("got %d items, want %d plus one", got, n)
	}
}

// TestAddCancelledMidway cancels requests that have added part of their items. No items may be
// added after the response, and the added items must be the first of the request.
func TestAddCancelledMidway(t *testing.T) {
	o := optionsWithIndex(t, "pre")
	o.MaxBatchTokens = 100
	s := startServer(t, o)
	// Slow batches: the ten batches of a round must not end before the cancellation.
	s.batcher.Before = func(ctx context.Context) {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	c := dial(t, s).initialize(struct{}{})
	some := 0 // rounds that were cancelled before all items were added
	for round := range 30 {
		const n = 300
		var items []any
		for k := range n {
			items = append(items, map[string]any{"id": fmt.Sprint(round, " ", k), "tokens": []int{1, 2, 1 + k%16}})
		}
		before := s.index.Len()
		c.request(round, "retrieval/add", map[string]any{"items": items})
		eventually(t, "no item is added", func() bool { return s.index.Len() > before })
		c.notify("$/cancelRequest", map[string]any{"id": round})
		c.response(round)
		added := s.index.Len() - before
		if added < n {
			some++
		}
		// The index applies this item after all earlier ones.
		c.call("search", "retrieval/add", map[string]any{"id": "x", "tokens": []int{1}}, nil)
		c.call("search", "retrieval/remove", map[string]any{"id": "x"}, nil)
		if now := s.index.Len() - before; now != added {
			t.Fatalf("round %d: got %d items after the response, %d later", round, added, now)
		}
		var ids []string
		for k := range added {
			ids = append(ids, fmt.Sprint(round, " ", k))
		}
		if unknown, err := s.index.Remove(ids); err != nil || len(unknown) > 0 {
			t.Fatalf("round %d: of the first %d items %q are missing, %v", round, added, unknown, err)
		}
	}
	if some == 0 {
		t.Error("no round was cancelled in time")
	}
}

// TestIndexOfAnotherModel checks that a new server and a reload refuse an index of another model,
// and that the option Reembed recomputes the vectors with the new model.
func TestIndexOfAnotherModel(t *testing.T) {
	o := optionsWithIndex(t, "pre")
	s := must.Get(New(context.Background(), o))(t)
	c := dial(t, s).initialize(struct{}{})
	for n := range 5 {
		c.call(n, "retrieval/add", map[string]any{"id": fmt.Sprint("item ", n), "tokens": repeatedToken(10 + 7*n)}, nil)
	}
	c.conn.Close()
	<-c.ended
	s.options.Load = load(t, "post")
	must.Fail(t, "the index belongs to the previous model", "a reload")(s.Reload())
	must.Succeed(t, s.Close())
	o.Load = load(t, "post")
	if s, err := New(context.Background(), o); err == nil || !strings.Contains(err.Error(), "another model") {
		s.Close()
		t.Fatalf("index of another model: got error %v", err)
	}
	o.Reembed = true
	s = startServer(t, o)
	c = dial(t, s).initialize(struct{}{})
	for n := range 5 {
		var found struct{ Items []searchItem }
		c.call(n, "retrieval/search", map[string]any{"tokens": repeatedToken(10 + 7*n), "k": 1}, &found)
		if len(found.Items) != 1 || found.Items[0].ID != fmt.Sprint("item ", n) || found.Items[0].Cosine < 1-1e-9 {
			t.Errorf("search %d: got %+v, want the item itself", n, found)
		}
	}
}

// TestHash checks that Hash depends on the weights, but not on truncation or on the config field
// auto_map, which belongs to an export.
func TestHash(t *testing.T) {
	m := must.Get(sft.Load(goldenDir + "/pre"))(t)
	before := Hash(m)
	m.Config.Truncate()
	if Hash(m) != before {
		t.Error("truncation changed the hash")
	}
	m.Config.AutoMap = json.RawMessage(`{"AutoModel":"modeling_sft.SFTModel"}`)
	if Hash(m) != before {
		t.Error("the field auto_map changed the hash")
	}
	m.Weights[0]++
	if Hash(m) == before {
		t.Error("other weights did not change the hash")
	}
}

// TestRescore checks that rescoring returns the scores that retrieval/score returns with the query as
// the first sequence and the item as the second.
func TestRescore(t *testing.T) {
	s := startServer(t, optionsWithIndex(t, "retrieval"))
	c := dial(t, s).initialize(struct{}{})
	texts := map[string]string{"one": "the first document", "two": "another", "three": "a third one, which is longer"}
	for id, text := range texts {
		c.call("add "+id, "retrieval/add", map[string]any{"id": id, "text": text}, nil)
	}
	const query = "what is asked for"
	var found struct{ Items []searchItem }
	c.call("search", "retrieval/search", map[string]any{"text": query, "k": 3, "rescore": 3}, &found)
	if len(found.Items) != 3 {
		t.Fatalf("got %+v, want 3 items", found)
	}
	for n, i := range found.Items {
		var p, turned struct{ Probabilities []float32 }
		c.call("score", "retrieval/score", map[string]any{"text_a": query, "text_b": texts[i.ID]}, &p)
		c.call("turned", "retrieval/score", map[string]any{"text_a": texts[i.ID], "text_b": query}, &turned)
		if *i.Score != p.Probabilities[1] || *i.Score == turned.Probabilities[1] {
			t.Errorf("%s: got score %v, want %v, not %v (swapped)", i.ID, *i.Score, p.Probabilities[1],
				turned.Probabilities[1])
		}
		if n > 0 && *i.Score > *found.Items[n-1].Score {
			t.Errorf("%s is ranked behind a smaller score", i.ID)
		}
	}
}

// TestHybridSearch checks the lexical weight of a search. Weight 1 ranks by shared words and
// reports the lexical score. Weight 0 does not change the response.
func TestHybridSearch(t *testing.T) {
	s := startServer(t, optionsWithIndex(t, "retrieval"))
	c := dial(t, s).initialize(struct{}{})
	for id, text := range map[string]string{"one": "the first document of the films", "two": "Zebras, and the rest",
		"three": "the third one of the films"} {
		c.call("add "+id, "retrieval/add", map[string]any{"id": id, "text": text}, nil)
	}
	search := func(params map[string]any) (found struct{ Items []searchItem }) {
		params["text"], params["k"] = "the films of zebras", 3
		c.call("search", "retrieval/search", params, &found)
		return found
	}
	plain, none := search(map[string]any{}), search(map[string]any{"lexical": 0})
	if !reflect.DeepEqual(plain, none) || plain.Items[0].Lexical != nil {
		t.Errorf("lexical 0: got %+v, want %+v", none, plain)
	}
	words := search(map[string]any{"lexical": 1})
	if words.Items[0].ID != "two" || !(*words.Items[0].Lexical > *words.Items[1].Lexical) ||
		*words.Items[2].Lexical <= 0 {
		t.Errorf("lexical 1: got %+v, want item two first", words)
	}
	cosines := map[string]float64{}
	for _, i := range plain.Items {
		cosines[i.ID] = i.Cosine
	}
	half, last := search(map[string]any{"lexical": 0.5}), 1.0
	for _, i := range half.Items {
		sum := 0.5*i.Cosine + 0.5**i.Lexical
		if i.Cosine != cosines[i.ID] || sum > last {
			t.Errorf("lexical 0.5: got %+v with score %v, want cosine %v and a score of at most %v", i, sum,
				cosines[i.ID], last)
		}
		last = sum
	}
	for _, bad := range []any{-0.1, 1.5, "x", true} {
		c.request("bad", "retrieval/search", map[string]any{"text": "a", "lexical": bad})
		if m := c.message(); m.Error == nil || !strings.Contains(m.Error.Message, "expected a weight from 0 to 1") {
			t.Errorf("lexical %v: got %+v, want an error", bad, m)
		}
	}
}

// TestLoneSurrogates checks that lone surrogates are refused in item ids, URIs and texts, since
// distinct surrogates would become the same replacement character.
func TestLoneSurrogates(t *testing.T) {
	o := optionsWithIndex(t, "pre")
	o.Debounce = time.Hour
	c := dial(t, startServer(t, o)).initialize(struct{}{})
	add := func(id, method, params, want string) {
		t.Helper()
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}`, id, method, params))
		m := c.message()
		if m.Error == nil || m.Error.Code != -32602 || !strings.Contains(m.Error.Message, want) {
			t.Errorf("%s %s: got error %+v, want -32602 with %q", method, params, m.Error, want)
		}
	}
	add("1", "retrieval/add", `{"id":"\ud800","text":"1"}`, `id: expected text, found lone surrogate \ud800 at byte 0`)
	add("2", "retrieval/remove", `{"ids":["a\udfff"]}`, `found lone surrogate \udfff at byte 1`)
	add("3", "sequence/classify", `{"text":"1 \ud83d 2"}`, `text: expected text, found lone surrogate \ud83d at byte 2`)
	add("4", "sequence/classify", `{"uri":"\ud83d"}`, `uri: expected text, found lone surrogate \ud83d at byte 0`)
	c.send(`{"jsonrpc":"2.0","method":"sequence/didOpen","params":{"uri":"u","version":1,"text":"1\ude42"}}`)
	if m := c.message(); m.Method != "window/logMessage" ||
		!strings.Contains(string(m.Params), "text: expected text, found lone surrogate \\\\ude42 at byte 1") {
		t.Errorf("got %s %s, want a log message about the text", m.Method, m.Params)
	}
	for _, id := range []string{`"\ud800"`, `"\udfff"`} { // a request id may be any string
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"model/info"}`, id))
		if m := c.message(); m.Error != nil || string(m.ID) != id {
			t.Errorf("got id %s, error %+v; want id %s", m.ID, m.Error, id)
		}
	}
}
