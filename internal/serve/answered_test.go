package serve

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestWindowsOfNumbersAndLabels: a window reads the tokens that it reports; sliding windows are reported one by one,
// and the whole has the mean of their logits. A document's window is that of its requests.
func TestWindowsOfNumbersAndLabels(t *testing.T) {
	tokens := []int{12, 3, 10, 15, 7}
	for folder, method := range map[string]string{"regression": "sequence/predict", "multilabel": "sequence/labels"} {
		s := start(t, testOptions(t, folder))
		c := dial(t, s).initialize(nil)
		ask := func(id int, params map[string]any) (out map[string]any) {
			t.Helper()
			c.call(id, method, params, &out)
			return out
		}
		answer := func(of map[string]any) any {
			if of["numbers"] != nil {
				return of["numbers"]
			}
			return []any{of["labels"], of["probabilities"]}
		}
		tail := ask(1, map[string]any{"tokens": tokens, "window": map[string]any{"policy": "tail", "length": 4}})
		if want := ask(2, map[string]any{"tokens": tokens[1:]}); !reflect.DeepEqual(answer(tail), answer(want)) ||
			tail["length"] != 5.0 || !reflect.DeepEqual(tail["window"], map[string]any{"policy": "tail", "start": 1.0,
			"end": 5.0, "count": 1.0}) || tail["windows"] != nil {
			t.Errorf("%s: the tail: %v, want %v", folder, tail, want)
		}
		sliding := ask(3, map[string]any{"tokens": tokens, "window": map[string]any{"policy": "sliding",
			"length": 4, "stride": 1}})
		windows, _ := sliding["windows"].([]any)
		if len(windows) != 2 {
			t.Fatalf("%s: %v", folder, sliding)
		}
		logits := []float64{}
		for i, w := range windows {
			w := w.(map[string]any)
			if want := ask(4+i, map[string]any{"tokens": tokens[i : i+4]}); !reflect.DeepEqual(answer(w),
				answer(want)) || w["start"] != float64(i) || w["end"] != float64(i+4) {
				t.Errorf("%s: window %d: %v, want %v", folder, i, w, want)
			}
			logits = append(logits, logitOf(s.current().config, w))
		}
		if got, want := logitOf(s.current().config, sliding),
			(logits[0]+logits[1])/2; math.Abs(got-want) > 1e-5*math.Max(1, math.Abs(want)) {
			t.Errorf("%s: the whole has the logit %v, the mean of the windows is %v", folder, got, want)
		}
		c.notify("sequence/didOpen", map[string]any{"uri": "a", "version": 1, "text": "[MAX 2 9 1 0",
			"window": json.RawMessage(`{"policy":"head","length":2}`)})
		if of := ask(9, map[string]any{"uri": "a"}); of["window"].(map[string]any)["end"] != 2.0 || of["uri"] != "a" {
			t.Errorf("%s: %v", folder, of)
		}
	}
}

// TestUsedOfWindows: where a model may cut, what was read counts all windows.
func TestUsedOfWindows(t *testing.T) {
	for folder, method := range map[string]string{"regression": "sequence/predict", "multilabel": "sequence/labels"} {
		c := dial(t, start(t, truncating(t, folder))).initialize(nil)
		for window, used := range map[string]int{`{"policy":"tail","length":3}`: 3,
			`{"policy":"sliding","length":3}`: 5, "null": 5} {
			var got struct{ Length, Used int }
			c.call(window, method, map[string]any{"tokens": []int{12, 3, 10, 15, 7},
				"window": json.RawMessage(window)}, &got)
			if got.Length != 5 || got.Used != used {
				t.Errorf("%s of %s: %+v, want %d", window, folder, got, used)
			}
		}
	}
}

// logitOf is the first logit of an answer.
func logitOf(c *sft.Config, of map[string]any) float64 {
	if numbers, ok := of["numbers"].(map[string]any); ok {
		return (numbers[c.Numbers[0].Name].(float64) - c.Numbers[0].Mean) / c.Numbers[0].Deviation
	}
	p := of["probabilities"].(map[string]any)["0"].(float64)
	return math.Log(p / (1 - p))
}

// TestWindowsThatDoNotApply: a model whose answers are no whole's refuses windows, in a request and
// of a document.
func TestWindowsThatDoNotApply(t *testing.T) {
	w := json.RawMessage(`{"policy":"head"}`)
	for _, folder := range []string{"tagging", "fill_mask", "retrieval"} {
		c := dial(t, start(t, testOptions(t, folder))).initialize(nil)
		c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": "a", "window": w})
		m := c.message()
		var logged struct{ Message string }
		if decode(t, m.Params, &logged); m.Method != "window/logMessage" || logged.Message == "" {
			t.Errorf("%s: %s %+v", folder, m.Method, logged)
		}
		c.refuse(1, "sequence/embed", map[string]any{"uri": "u"}, -32602, "no document")
	}
	c := dial(t, start(t, testOptions(t, "tagging"))).initialize(nil)
	c.refuse(1, "sequence/tag", map[string]any{"text": "Ann", "window": w}, -32602,
		"window: the task tagging does not support windows")
}

// TestWindowAfterReload: a document that was opened with a window is tagged as a whole by a model of tags that takes
// the place of another.
func TestWindowAfterReload(t *testing.T) {
	o := testOptions(t, "pre")
	names := []string{"pre", "tagging"}
	o.Load = func() (*Model, error) {
		m, err := load(t, names[0])()
		names = names[1:]
		return m, err
	}
	s := start(t, o)
	c := dial(t, s).initialize(nil)
	text := "Ann Lee met Zoë in New York." // an error of the first model
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": text,
		"window": map[string]any{"policy": "tail", "length": 2}})
	c.message()
	must.Succeed(t, s.Reload())
	var pushed, whole struct{ Spans []config.Span }
	must.Succeed(t, json.Unmarshal(c.message().Params, &pushed))
	c.call(1, "sequence/tag", map[string]any{"text": text}, &whole)
	var document struct {
		Spans  []config.Span
		Window any
	}
	c.call(2, "sequence/tag", map[string]any{"uri": "u"}, &document)
	if len(whole.Spans) == 0 || document.Window != nil || !reflect.DeepEqual(document.Spans, whole.Spans) ||
		!reflect.DeepEqual(pushed.Spans, whole.Spans) {
		t.Errorf("pushed %v, of the document %v with the window %v, want %v", pushed.Spans, document.Spans,
			document.Window, whole.Spans)
	}
}
