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

// TestWindowsOfNumbersAndLabels checks windows of regression and multi-label models. A window's
// prediction equals the prediction for the window's tokens alone. The response to a request with
// sliding windows lists the prediction of each window; the prediction of the whole sequence has the
// mean of the windows' logits. A document uses the window of its sequence/didOpen.
func TestWindowsOfNumbersAndLabels(t *testing.T) {
	tokens := []int{12, 3, 10, 15, 7}
	for folder, method := range map[string]string{"regression": "sequence/predict", "multilabel": "sequence/labels"} {
		s := startServer(t, testOptions(t, folder))
		c := dial(t, s).initialize(nil)
		request := func(id int, params map[string]any) (out map[string]any) {
			t.Helper()
			c.call(id, method, params, &out)
			return out
		}
		values := func(result map[string]any) any {
			if result["numbers"] != nil {
				return result["numbers"]
			}
			return []any{result["labels"], result["probabilities"]}
		}
		tail := request(1, map[string]any{"tokens": tokens, "window": map[string]any{"policy": "tail", "length": 4}})
		if want := request(2, map[string]any{"tokens": tokens[1:]}); !reflect.DeepEqual(values(tail), values(want)) ||
			tail["length"] != 5.0 || !reflect.DeepEqual(tail["window"], map[string]any{"policy": "tail", "start": 1.0,
			"end": 5.0, "count": 1.0}) || tail["windows"] != nil {
			t.Errorf("%s: tail window: got %v, want %v", folder, tail, want)
		}
		sliding := request(3, map[string]any{"tokens": tokens, "window": map[string]any{"policy": "sliding",
			"length": 4, "stride": 1}})
		windows, _ := sliding["windows"].([]any)
		if len(windows) != 2 {
			t.Fatalf("%s: got %v, want 2 windows", folder, sliding)
		}
		logits := []float64{}
		for i, w := range windows {
			w := w.(map[string]any)
			if want := request(4+i, map[string]any{"tokens": tokens[i : i+4]}); !reflect.DeepEqual(values(w),
				values(want)) || w["start"] != float64(i) || w["end"] != float64(i+4) {
				t.Errorf("%s: window %d: got %v, want %v", folder, i, w, want)
			}
			logits = append(logits, logitOf(s.current().config, w))
		}
		if got, want := logitOf(s.current().config, sliding),
			(logits[0]+logits[1])/2; math.Abs(got-want) > 1e-5*math.Max(1, math.Abs(want)) {
			t.Errorf("%s: logit of the sequence is %v, want the windows' mean %v", folder, got, want)
		}
		c.notify("sequence/didOpen", map[string]any{"uri": "a", "version": 1, "text": "[MAX 2 9 1 0",
			"window": json.RawMessage(`{"policy":"head","length":2}`)})
		if result := request(9, map[string]any{"uri": "a"}); result["window"].(map[string]any)["end"] != 2.0 ||
			result["uri"] != "a" {
			t.Errorf("%s: document: got %v, want a window that ends at 2", folder, result)
		}
	}
}

// TestUsedOfWindows checks the field "used" in responses of a model that truncates. With windows, it is
// the number of tokens from the start of the first window to the end of the last.
func TestUsedOfWindows(t *testing.T) {
	for folder, method := range map[string]string{"regression": "sequence/predict", "multilabel": "sequence/labels"} {
		c := dial(t, startServer(t, truncatingOptions(t, folder))).initialize(nil)
		for window, used := range map[string]int{`{"policy":"tail","length":3}`: 3,
			`{"policy":"sliding","length":3}`: 5, "null": 5} {
			var got struct{ Length, Used int }
			c.call(window, method, map[string]any{"tokens": []int{12, 3, 10, 15, 7},
				"window": json.RawMessage(window)}, &got)
			if got.Length != 5 || got.Used != used {
				t.Errorf("%s of %s: got %+v, want length 5 and used %d", window, folder, got, used)
			}
		}
	}
}

// logitOf returns the first logit of a response: the standardised number, or the log-odds of label
// "0".
func logitOf(c *sft.Config, result map[string]any) float64 {
	if numbers, ok := result["numbers"].(map[string]any); ok {
		return (numbers[c.Numbers[0].Name].(float64) - c.Numbers[0].Mean) / c.Numbers[0].Deviation
	}
	p := result["probabilities"].(map[string]any)["0"].(float64)
	return math.Log(p / (1 - p))
}

// TestWindowsThatDoNotApply checks that models without window support refuse a window in
// sequence/didOpen, and that a tagging model also refuses a window in a request.
func TestWindowsThatDoNotApply(t *testing.T) {
	w := json.RawMessage(`{"policy":"head"}`)
	for _, folder := range []string{"tagging", "fill_mask", "retrieval"} {
		c := dial(t, startServer(t, testOptions(t, folder))).initialize(nil)
		c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": "a", "window": w})
		m := c.message()
		var logged struct{ Message string }
		if decode(t, m.Params, &logged); m.Method != "window/logMessage" || logged.Message == "" {
			t.Errorf("%s: got %s %+v, want a log message", folder, m.Method, logged)
		}
		c.expectError(1, "sequence/embed", map[string]any{"uri": "u"}, -32602, "no document")
	}
	c := dial(t, startServer(t, testOptions(t, "tagging"))).initialize(nil)
	c.expectError(1, "sequence/tag", map[string]any{"text": "Ann", "window": w}, -32602,
		"window: the task tagging does not support windows")
}

// TestWindowAfterReload checks that a tagging model ignores the window of a document that was
// opened under another model.
func TestWindowAfterReload(t *testing.T) {
	o := testOptions(t, "pre")
	names := []string{"pre", "tagging"}
	o.Load = func() (*Model, error) {
		m, err := load(t, names[0])()
		names = names[1:]
		return m, err
	}
	s := startServer(t, o)
	c := dial(t, s).initialize(nil)
	text := "Ann Lee met Zoë in New York." // the first model cannot tokenize this text
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
		t.Errorf("got pushed spans %v, document spans %v and window %v, want spans %v", pushed.Spans, document.Spans,
			document.Window, whole.Spans)
	}
}
