package serve

import (
	"reflect"
	"testing"
	"time"
)

// TestPublishedNumbersAndLabels checks that the server pushes the same numbers and labels as it returns
// for a request, with and without windows. For an empty text it pushes an error. After a change that
// cannot be applied, it sends a publication and a window/logMessage.
func TestPublishedNumbersAndLabels(t *testing.T) {
	for folder, methods := range map[string][2]string{"regression": {"sequence/predict", "sequence/publishNumbers"},
		"multilabel": {"sequence/labels", "sequence/publishLabels"}} {
		o := testOptions(t, folder)
		o.Debounce = time.Millisecond
		c := dial(t, startServer(t, o)).initialize(nil)
		next := func() (out map[string]any) {
			t.Helper()
			m := c.message()
			if decode(t, m.Params, &out); m.Method != methods[1] {
				t.Fatalf("%s: got method %s, want %s", folder, m.Method, methods[1])
			}
			return out
		}
		for version, window := range []any{nil, map[string]any{"policy": "tail", "length": 2},
			map[string]any{"policy": "sliding", "length": 2, "stride": 1}} {
			c.notify("sequence/didOpen", map[string]any{"uri": "a", "version": version,
				"text": "[MAX 2 9 ]", "window": window})
			pushed := next()
			var want map[string]any
			c.call(version, methods[0], map[string]any{"uri": "a"}, &want)
			if !reflect.DeepEqual(pushed, want) || pushed["uri"] != "a" || pushed["version"] != float64(version) ||
				(pushed["window"] != nil) != (window != nil) {
				t.Errorf("%s: got pushed %v, want %v", folder, pushed, want)
			}
		}
		c.notify("sequence/didOpen", map[string]any{"uri": "a", "version": 9, "text": ""})
		if pushed := next(); pushed["error"] == nil || pushed["numbers"] != nil || pushed["labels"] != nil {
			t.Errorf("%s: got pushed %v, want an error", folder, pushed)
		}
		c.notify("sequence/didChange", map[string]any{"uri": "a", "version": 9,
			"changes": []any{map[string]any{"text": "old"}}})
		for _, method := range []string{methods[1], "window/logMessage"} {
			if m := c.message(); m.Method != method {
				t.Errorf("%s: got method %s, want %s", folder, m.Method, method)
			}
		}
	}
}
