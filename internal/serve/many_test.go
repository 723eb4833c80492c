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

// TestCancelWhilePlanning: a small request for many windows of a large document can be cancelled while it is planned,
// with and without progress.
func TestCancelWhilePlanning(t *testing.T) {
	o := testOptions(t, "pre")
	o.Debounce = time.Hour
	s := start(t, o)
	release := hold(s)
	defer close(release)
	c := dial(t, s).initialize(struct{}{})
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": strings.Repeat("1 ", 1<<19)})
	ask := map[string]any{"uri": "u", "window": map[string]any{"policy": "head", "length": 10}}
	params := map[string]any{"sequences": slices.Repeat([]any{ask}, 5000)}
	for n := range 2 {
		c.request(n, "sequence/classify", params)
		eventually(t, "nothing runs", func() bool { _, _, running := waiting(s); return running > 0 })
		c.notify("$/cancelRequest", map[string]any{"id": n})
		asked := time.Now()
		if m := c.answer(n); m.Error == nil || m.Error.Code != -32800 || time.Since(asked) > time.Second {
			t.Errorf("%+v, after %v", m.Error, time.Since(asked))
		}
		eventually(t, "the batch goes on", func() bool { jobs, _, running := waiting(s); return jobs+running == 0 })
		params["workDoneToken"] = "w"
	}
}

// TestErrorsAreAhead: elements with an error are looked at no further ahead than
// others, and one that waits keeps those behind it waiting.
func TestErrorsAreAhead(t *testing.T) {
	s := start(t, testOptions(t, "pre"))
	c := &call{session: &session{server: s, share: s.turns.Share(), log: s.log}, model: s.current(),
		ctx: context.Background()}
	list, planned := "[1"+strings.Repeat(",1", maxMany-1)+"]", 0
	out, err := c.runMany("sequences", json.RawMessage(list), &progress{call: c},
		func(path string, _ json.RawMessage) *item {
			planned++
			if planned > 1 {
				return &item{err: errors.New(path)}
			}
			return &item{result: func([]sft.Output) (any, error) {
				if planned > maxAheadJobs {
					t.Errorf("%d are looked at", planned)
				}
				return 1, nil
			}}
		})
	c.free(c.bytes)
	if r, ok := out.(results); err != nil || !ok || len(r.Results) != maxMany ||
		r.Results[maxMany-1].Error.Message != "sequences[16383]" {
		t.Errorf("%v, %v", err, out)
	}
}

// TestProgressOfMany: the percentage never falls, and in the end all that was found
// is done.
func TestProgressOfMany(t *testing.T) {
	s := start(t, testOptions(t, "pre"))
	c := dial(t, s).initialize(struct{}{})
	sequences := []any{map[string]any{"tokens": []int{}}}
	for n := range 40 {
		sequences = append(sequences, map[string]any{"tokens": ones(1 + 50*n)})
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
			t.Errorf("%s after %+v", m.Params, last)
		}
	}
	if *last.Percentage != 100 || *last.Done != 40+50*780 || *last.Total != *last.Done {
		t.Errorf("%d %%, %d of %d", *last.Percentage, *last.Done, *last.Total)
	}
}

// TestLongLists: no list has more elements than a request may, whatever it is of.
func TestLongLists(t *testing.T) {
	o := withIndex(t, "pre")
	o.Debounce = time.Hour
	s := start(t, o)
	c := dial(t, s).initialize(struct{}{})
	list := func(n int, of string) json.RawMessage {
		return json.RawMessage("[" + strings.Repeat(of+",", n-1) + of + "]")
	}
	for n, x := range []struct{ method, field string }{{"sequence/classify", "sequences"}, {"retrieval/add", "items"},
		{"retrieval/remove", "ids"}} {
		c.refuse(n, x.method, map[string]any{x.field: list(maxMany+1, "1")}, -32602,
			x.field+": expected at most 16384, found more")
	}
	var out removed
	c.call("all", "retrieval/remove", map[string]any{"ids": list(maxMany, "1")}, &out)
	if len(out.Unknown) != maxMany {
		t.Errorf("%d are unknown", len(out.Unknown))
	}
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": ""})
	change := `{"range":{"start":0,"end":0},"text":"1"}`
	c.notify("sequence/didChange", map[string]any{"uri": "u", "version": 2, "changes": list(maxMany, change)})
	c.call("whole", "sequence/classify",
		map[string]any{"uri": "u", "window": map[string]any{"policy": "head", "length": 1}}, nil)
	c.notify("sequence/didChange", map[string]any{"uri": "u", "version": 3, "changes": list(maxMany+1, change)})
	c.refuse("broken", "sequence/classify", map[string]any{"uri": "u"}, -32803,
		"changes: expected at most 16384, found more")
}

// TestMemoryOfLists: what a list takes is counted, and it takes no more before it is.
func TestMemoryOfLists(t *testing.T) {
	o := withIndex(t, "pre")
	o.MaxMemory = 1 << 20
	s := start(t, o)
	c := dial(t, s).initialize(struct{}{})
	ids := make([]string, 8000)
	for n := range ids {
		ids[n] = fmt.Sprint(n)
	}
	c.refuse(1, "retrieval/remove", map[string]any{"ids": ids}, -32602, "--max-memory")
	eventually(t, "what it took is kept", func() bool { return s.memory.used.Load() == 0 })
	c.call(2, "retrieval/remove", map[string]any{"ids": ids[:1000]}, nil)

	list := json.RawMessage("[" + strings.Repeat("1,", 8<<20) + "1]")
	taken := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if err := elements("ids", list, func(int, json.RawMessage) error { return nil }); err == nil {
				b.Fatal("it is accepted")
			}
		}
	}).AllocedBytesPerOp()
	if taken > 4<<20 {
		t.Errorf("cutting a list takes %d bytes", taken)
	}
}
