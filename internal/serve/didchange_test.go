package serve

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestLostChanges checks a document after a change that cannot be applied. The server pushes the error
// once, and then pushes nothing for the document until the client sends the whole text.
// Meanwhile a request for the document fails with a message of at most 200 bytes.
func TestLostChanges(t *testing.T) {
	change := func(params string) string {
		return `{"jsonrpc":"2.0","method":"sequence/didChange","params":` + params + `}`
	}
	for _, c := range []struct{ name, message, why string }{
		{"an LSP position", change(`{"uri":"u","version":2,"changes":[{"text":"7"},{"range":{"start":{"line":0,"character":5},"end":6},"text":"7"}]}`), "changes[1].range.start: expected a whole number, found an object"},
		{"a number in quotes", change(`{"uri":"u","version":"2","changes":[]}`),
			`version: expected a whole number, found "2"`},
		{"a fractional version", change(`{"uri":"u","version":2.5,"changes":[]}`),
			"version: expected a whole number, found 2.5"},
		{"no version", change(`{"uri":"u","changes":[]}`), "version: expected a whole number, found none"},
		{"an old version", change(`{"uri":"u","version":1,"changes":[{"text":"7"}]}`),
			"version: expected a version above 1, found 1"},
		{"no end", change(`{"uri":"u","version":2,"changes":[{"range":{"start":5},"text":"7"}]}`),
			"changes[0].range: expected start and end"},
		{"no text", change(`{"uri":"u","version":2,"changes":[{"range":{"start":5,"end":5}}]}`),
			"changes[0].text: expected a string, found none"},
		{"no changes", change(`{"uri":"u","version":2}`), "changes: expected a list, found none"},
		{"null changes", change(`{"uri":"u","version":2,"changes":null}`), "changes: expected a list, found none"},
		{"changes as in LSP", change(`{"uri":"u","version":2,"contentChanges":[{"text":"7"}]}`),
			"changes: expected a list, found none"},
		{"a string as a change", change(`{"uri":"u","version":2,"changes":["7"]}`),
			"changes[0]: expected an object, found \"7\""},
		{"a misspelt field", change(`{"uri":"u","version":2,"changes":[{"rnage":{"start":0,"end":1},"text":"7"}]}`),
			`changes[0]: expected range, text, found "rnage"`},
		{"a range beyond the end",
			change(`{"uri":"u","version":2,"changes":[{"range":{"start":5,"end":500},"text":"7"}]}`),
			"changes[0].range: expected a range within 10 bytes, found 5 to 500"},
		{"a numeric uri", change(`{"uri":5,"version":2,"changes":[{"text":"7"}]}`), "uri: expected a string, found 5"},
		{"an empty uri", change(`{"uri":"","version":2,"changes":[{"text":"7"}]}`),
			"uri: expected a name, found an empty string"},
		{"no uri", change(`{"version":2,"changes":[{"text":"7"}]}`), "uri: expected a string, found none"},
		{"a misspelt uri", change(`{"Uri":"u","version":2,"changes":[{"text":"7"}]}`), "uri: expected a string, found none"},
		{"changes twice", change(`{"uri":"u","version":2,"changes":[{"text":"7"}],"changes":[]}`),
			"the field changes occurs twice"},
		{"a field of another method", change(`{"uri":"u","version":2,"changes":[{"text":"7"}],"text":"7"}`),
			"text: unexpected field"},
		{"no parameters", change(`[]`), "expected a JSON object, found a list"},
		{"didOpen without uri", `{"jsonrpc":"2.0","method":"sequence/didOpen","params":{"version":1,"text":"7"}}`,
			"uri: expected a string, found none"},
		{"didOpen with two uris", `{"jsonrpc":"2.0","method":"sequence/didOpen","params":{"uri":"u","uri":"v","version":1,"text":"7"}}`, "the field uri occurs twice"},
		{"malformed JSON", `{"jsonrpc":"2.0","method":"sequence/didChange","params":{"uri":"u"`, "malformed JSON"},
		{"a list", `[{"jsonrpc":"2.0","method":"sequence/didChange","params":{}}]`, "batches are not supported"},
		{"a long message", change(`{"uri":"u","version":2,"changes":[{"text":"` + strings.Repeat("1", 2000) + `"}]}`),
			"--max-line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := testOptions(t, "pre")
			o.MaxLine = 1000
			s := startServer(t, o)
			x := dial(t, s).initialize(struct{}{})
			x.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": "[MAX 2 9 ]"})
			x.message() // the class of the opened document
			x.send(c.message)
			var p published
			if decode(t, x.message().Params, &p); p.Error == nil || p.Label != nil ||
				!strings.Contains(p.Error.Message, c.why) {
				t.Errorf("got pushed %+v, want error %q", p, c.why)
			}
			var sent struct{ Message string }
			if m := x.message(); m.Error != nil {
				sent.Message = m.Error.Message
			} else {
				decode(t, m.Params, &sent)
			}
			if !strings.Contains(sent.Message, c.why) {
				t.Errorf("got error %q, want %q", sent.Message, c.why)
			}
			for version := 3; version < 9; version++ {
				x.notify("sequence/didChange", map[string]any{"uri": "u", "version": version,
					"changes": []any{map[string]any{"range": map[string]any{"start": 0, "end": 0}, "text": " "}}})
			}
			x.request(1, "sequence/classify", map[string]any{"uri": "u"})
			if m := x.message(); m.Error == nil || m.Error.Code != -32803 ||
				!strings.Contains(m.Error.Message, c.why) || len(m.Error.Message) > 200 {
				t.Errorf("got %s: %s, error %+v; want -32803 with %q", m.Method, m.Params, m.Error, c.why)
			}
			x.notify("sequence/didChange", map[string]any{"uri": "u", "version": 9, "changes": []any{
				map[string]any{"range": map[string]any{"start": 3, "end": 2}, "text": "passed over"},
				map[string]any{"text": "[MIN 2 9 ]"}}})
			x.request(2, "sequence/classify", map[string]any{"uri": "u"})
			p = published{}
			for range 2 { // the response and the publication come in either order
				if m := x.message(); m.Method != "" {
					decode(t, m.Params, &p)
				} else if m.Error != nil {
					t.Errorf("classify after the whole text: error %+v", m.Error)
				}
			}
			if p.Version != 9 || p.Label == nil || p.Error != nil {
				t.Errorf("got pushed %+v, want a label for version 9", p)
			}
		})
	}
}

// TestOpenedBadly checks that a malformed sequence/didOpen closes the document with the same URI. A
// sequence/didClose without a valid URI must close nothing; with a valid URI and an unexpected field it
// closes the document.
func TestOpenedBadly(t *testing.T) {
	c := dial(t, startServer(t, testOptions(t, "pre"))).initialize(struct{}{})
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": "[MAX 2 9 ]"})
	c.message() // the class of the opened document
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": "2", "text": "7"})
	if m := c.message(); !strings.Contains(string(m.Params), `version: expected a whole number, found \"2\"`) {
		t.Errorf("got %s, want an error about the version", m.Params)
	}
	c.expectError(1, "sequence/classify", map[string]any{"uri": "u"}, -32602, "no document")
	for _, field := range []string{"explain", "tokens", "bytes", "changes"} {
		c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": "7", field: "x"})
		if m := c.message(); !strings.Contains(string(m.Params), "didOpen: "+field+": unexpected field") {
			t.Errorf("got %s, want an error about the unexpected field", m.Params)
		}
	}
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": "7", "languageId": "plaintext"})
	c.message() // the class of the opened document
	for _, params := range []string{`{}`, `{"uri":"u","uri":"u"}`, `{"uri":7}`, `[]`} {
		c.notify("sequence/didClose", json.RawMessage(params))
		if m := c.message(); !strings.Contains(string(m.Params), "sequence/didClose: ") {
			t.Errorf("got %s, want an error of sequence/didClose", m.Params)
		}
		c.call(2, "sequence/classify", map[string]any{"uri": "u"}, nil) // the document is still open
	}
	c.notify("sequence/didClose", map[string]any{"uri": "u", "text": "7"}) // closes although text is refused
	c.expectError(3, "sequence/classify", map[string]any{"uri": "u"}, -32602, "no document")
}

// TestWholeTextAgain checks that, after the server has requested the whole text, it reports every
// whole text that it refuses, and ignores edits silently.
func TestWholeTextAgain(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	c := dial(t, s).initialize(struct{}{})
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 5, "text": "[MAX 2 9 ]"})
	c.message() // the class of the opened document
	whole, edit := map[string]any{"text": strings.Repeat("7 ", 4000)},
		map[string]any{"range": map[string]any{"start": 0, "end": 0}, "text": "7 "}
	for _, x := range []struct {
		version int
		change  any
		full    bool // whether the server's memory is exhausted
		why     string
	}{
		{2, whole, false, "version: expected a version above 5, found 2"},
		{3, edit, false, ""},
		{4, whole, false, "version: expected a version above 5, found 4"},
		{6, edit, false, ""},
		{7, whole, true, "the server has reached --max-memory"},
	} {
		taken := int64(0)
		if x.full {
			taken = s.memory.limit - s.memory.used.Load() - 4000
			s.memory.reserve(taken)
		}
		c.notify("sequence/didChange", map[string]any{"uri": "u", "version": x.version, "changes": []any{x.change}})
		for n := 0; x.why != "" && n < 2; n++ {
			if m := c.message(); !strings.Contains(string(m.Params),
				x.why+"; send the whole text with a higher version") {
				t.Errorf("version %d: got %s, want %s", x.version, m.Params, x.why)
			}
		}
		s.memory.release(taken)
	}
	c.notify("sequence/didChange", map[string]any{"uri": "u", "version": 8, "changes": []any{whole}})
	var p published
	if decode(t, c.message().Params, &p); p.Version != 8 || p.Label == nil {
		t.Errorf("got pushed %+v, want a label for version 8", p)
	}
}

// TestChangeBehindClose checks that a change has no effect if the document is closed while the change waits
// for the document's lock.
func TestChangeBehindClose(t *testing.T) {
	o := testOptions(t, "pre")
	o.Debounce = time.Hour
	s := startServer(t, o)
	c := dial(t, s).initialize(encodingParams("utf-16"))
	change := func(version int) {
		c.notify("sequence/didChange", map[string]any{"uri": "u", "version": version,
			"changes": []any{map[string]any{"range": map[string]int{"start": 8, "end": 8}, "text": " 1"}}})
	}
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": "[MAX 2 9 ]"})
	change(2)
	c.call(1, "model/info", struct{}{}, nil)
	d := openScheduled(t, s, "u")
	d.mu.Lock()
	change(3)
	time.Sleep(100 * time.Millisecond) // long enough for the change to wait for the lock
	d.closeLocked()
	d.mu.Unlock()
	change(4)
	c.call(2, "model/info", struct{}{}, nil)
	d.mu.Lock() // the end of the session writes to the document concurrently
	defer d.mu.Unlock()
	if d.text.Len() != 0 {
		t.Errorf("got text %q, want an empty text", d.text.String())
	}
}
