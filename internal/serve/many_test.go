package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/sft"
)

// TestCancelWhilePlanning checks that a request for many windows of a large document can be
// cancelled while its windows are planned, with and without progress.
func TestCancelWhilePlanning(t *testing.T) {
	o := testOptions(t, "pre")
	o.Debounce = time.Hour
	s := startServer(t, o)
	release := blockBatches(s)
	defer close(release)
	c := dial(t, s).initialize(struct{}{})
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": strings.Repeat("1 ", 1<<19)})
	sequence := map[string]any{"uri": "u", "window": map[string]any{"policy": "head", "length": 10}}
	params := map[string]any{"sequences": slices.Repeat([]any{sequence}, 5000)}
	for n := range 2 {
		c.request(n, "sequence/classify", params)
		eventually(t, "no batch runs", func() bool { _, _, running := queueState(s); return running > 0 })
		c.notify("$/cancelRequest", map[string]any{"id": n})
		asked := time.Now()
		if m := c.response(n); m.Error == nil || m.Error.Code != -32800 || time.Since(asked) > time.Second {
			t.Errorf("got error %+v after %v, want -32800 within 1s", m.Error, time.Since(asked))
		}
		eventually(t, "the batch still runs", func() bool {
			jobs, _, running := queueState(s)
			return jobs+running == 0
		})
		params["workDoneToken"] = "w"
	}
}

// TestErrorsAreAhead checks that elements with an error are planned at most maxAheadJobs ahead of
// the first pending element.
func TestErrorsAreAhead(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	c := &call{session: &session{server: s, share: s.turns.Share(), log: s.log}, model: s.current(),
		ctx: context.Background()}
	list, planned := "[1"+strings.Repeat(",1", maxElements-1)+"]", 0
	out, err := c.runMany("sequences", json.RawMessage(list), &progress{call: c},
		func(path string, _ json.RawMessage) *item {
			planned++
			if planned > 1 {
				return &item{err: errors.New(path)}
			}
			return &item{result: func([]sft.Output) (any, error) {
				if planned > maxAheadJobs {
					t.Errorf("%d elements are planned, want at most maxAheadJobs", planned)
				}
				return 1, nil
			}}
		})
	c.free(c.bytes)
	if r, ok := out.(results); err != nil || !ok || len(r.Results) != maxElements ||
		r.Results[maxElements-1].Error.Message != "sequences[16383]" {
		t.Errorf("got %T with %d elements, the last %+v, error %v; want results with %d, the last with error %q", out,
			len(r.Results), r.Results[max(0, len(r.Results)-1):], err, maxElements, "sequences[16383]")
	}
}

// TestProgressOfMany checks that the reported percentage and number of tokens never decrease, and that
// the last report counts all tokens.
func TestProgressOfMany(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	c := dial(t, s).initialize(struct{}{})
	sequences := []any{map[string]any{"tokens": []int{}}}
	for n := range 40 {
		sequences = append(sequences, map[string]any{"tokens": repeatedToken(1 + 50*n)})
	}
	c.request(1, "sequence/classify", map[string]any{"sequences": sequences, "workDoneToken": 7})
	var last workDone
	for m := c.message(); m.Method != ""; m = c.message() {
		var p struct{ Value workDone }
		decode(t, m.Params, &p)
		switch x := p.Value; {
		case x.Kind == "begin" && x.Total == nil && *x.Percentage == 0:
			last = x
		case x.Kind == "report" && *x.Percentage >= *last.Percentage && *x.Done >= *last.Done && *x.Done <= *x.Total:
			last = x
		case x.Kind != "end":
			t.Errorf("got progress %s after %+v", m.Params, last)
		}
	}
	if *last.Percentage != 100 || *last.Done != 40+50*780 || *last.Total != *last.Done {
		t.Errorf("got %d%%, %d of %d tokens, want 100%% and %d tokens", *last.Percentage, *last.Done, *last.Total,
			40+50*780)
	}
}

// TestLongLists checks that lists of sequences, items, ids and changes are refused above maxElements
// elements.
func TestLongLists(t *testing.T) {
	o := optionsWithIndex(t, "pre")
	o.Debounce = time.Hour
	s := startServer(t, o)
	c := dial(t, s).initialize(struct{}{})
	list := func(n int, of string) json.RawMessage {
		return json.RawMessage("[" + strings.Repeat(of+",", n-1) + of + "]")
	}
	for n, x := range []struct{ method, field string }{{"sequence/classify", "sequences"}, {"retrieval/add", "items"},
		{"retrieval/remove", "ids"}} {
		c.expectError(n, x.method, map[string]any{x.field: list(maxElements+1, "1")}, -32602,
			x.field+": expected at most 16384 elements, found more")
	}
	var out removeResult
	c.call("all", "retrieval/remove", map[string]any{"ids": list(maxElements, "1")}, &out)
	if len(out.Unknown) != maxElements {
		t.Errorf("got %d unknown ids, want all", len(out.Unknown))
	}
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": ""})
	change := `{"range":{"start":0,"end":0},"text":"1"}`
	c.notify("sequence/didChange", map[string]any{"uri": "u", "version": 2, "changes": list(maxElements, change)})
	c.call("whole", "sequence/classify",
		map[string]any{"uri": "u", "window": map[string]any{"policy": "head", "length": 1}}, nil)
	c.notify("sequence/didChange", map[string]any{"uri": "u", "version": 3, "changes": list(maxElements+1, change)})
	c.expectError("broken", "sequence/classify", map[string]any{"uri": "u"}, -32803,
		"changes: expected at most 16384 elements, found more")
}

// TestMemoryOfLists checks that the elements of a list count as memory, and that splitting a list above
// maxElements allocates little.
func TestMemoryOfLists(t *testing.T) {
	o := optionsWithIndex(t, "pre")
	o.MaxMemory = 1 << 20
	s := startServer(t, o)
	c := dial(t, s).initialize(struct{}{})
	ids := make([]string, 8000)
	for n := range ids {
		ids[n] = fmt.Sprint(n)
	}
	c.expectError(1, "retrieval/remove", map[string]any{"ids": ids}, -32602, "--max-memory")
	eventually(t, "memory is still counted", func() bool { return s.memory.used.Load() == 0 })
	c.call(2, "retrieval/remove", map[string]any{"ids": ids[:1000]}, nil)

	list := json.RawMessage("[" + strings.Repeat("1,", 8<<20) + "1]")
	taken := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if err := elements("ids", list, func(int, json.RawMessage) error { return nil }); err == nil {
				b.Fatal("a list of more than maxElements elements was accepted")
			}
		}
	}).AllocedBytesPerOp()
	if taken > 4<<20 {
		t.Errorf("splitting a list allocates %d bytes, want at most 4 MiB", taken)
	}
}
