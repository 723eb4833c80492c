package serve

import (
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/serve/transport"
)

// TestIDs checks that request ids are compared after JSON unescaping, and that an id can be reused
// once its response has been read.
func TestIDs(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	release := blockBatches(s)
	c := dial(t, s).initialize(struct{}{})
	c.send(`{"jsonrpc":"2.0","id":"a","method":"sequence/classify","params":{"tokens":[1]}}`)
	c.send(`{"jsonrpc":"2.0","id":"\u0061","method":"sequence/classify","params":{"tokens":[1]}}`)
	if m := c.message(); m.Error == nil || m.Error.Code != -32600 {
		t.Errorf("duplicate id: got %s, error %+v, want -32600", m.Result, m.Error)
	}
	c.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"\u0061"}}`)
	if m := c.message(); string(m.ID) != `"a"` || m.Error == nil || m.Error.Code != -32800 {
		t.Errorf("cancelled: got id %s, error %+v, want \"a\" and -32800", m.ID, m.Error)
	}
	close(release)
	for range 300 {
		c.call(1, "sequence/classify", map[string]any{"tokens": []int{1}}, nil)
	}
}

// TestCancelWithoutID checks that a cancellation without an id is logged, and that the session
// continues.
func TestCancelWithoutID(t *testing.T) {
	c := dial(t, startServer(t, testOptions(t, "pre"))).initialize(struct{}{})
	for _, params := range []string{`{}`, `{"md":2}`} {
		c.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":` + params + `}`)
		if m := c.message(); m.Method != "window/logMessage" ||
			!strings.Contains(string(m.Params), "id: expected the id of a request") {
			t.Errorf("%s: got %s %s, want a log message about the id", params, m.Method, m.Params)
		}
	}
	for _, params := range []string{`{"id":null}`, `{"id":[]}`, `null`, `[]`, `1`} {
		c.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":` + params + `}`)
	}
	c.expectServed()
}

// TestIDOfBad checks that the error for a malformed message has the message's id if the id precedes
// the fault. Open documents are marked as broken only if the message may have been a change of a
// document.
func TestIDOfBad(t *testing.T) {
	o := testOptions(t, "pre")
	o.Debounce = time.Hour
	x := dial(t, startServer(t, o)).initialize(struct{}{})
	for _, c := range []struct {
		message, id string
		loses       bool
	}{
		{`{"jsonrpc":"2.0","id":7,"method":"model/info","params":{]}`, "7", false},
		{`{"jsonrpc":"2.0","params":{"id":8},"id":"a","method":}`, `"a"`, false},
		{`{"jsonrpc":"2.0","id":7,"method":"a","method":"b"}`, "7", false},
		{"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\xff\"}", "7", false},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"model/info\"}", "null", false},
		{`{"id":null,"method":"model/info"}`, "null", false},
		{`{"jsonrpc":"2.0","method":"model/info","params":{]}`, "null", false},
		{`{"jsonrpc":"2.0","id":7`, "null", true}, // the message may continue
		{`{"jsonrpc":"2.0","params":{]},"id":7}`, "null", true},
		{`{"jsonrpc":"2.0","method":"sequence/didChange","params":{]}`, "null", true},
		{`{"jsonrpc":"2.0","method":7}`, "null", true},
		{`[]`, "null", true},
		{`nonsense`, "null", true},
		{`{"id":1} 2 "id" 3`, "1", false},
	} {
		x.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": "1"})
		x.send(c.message)
		m := x.message()
		lost := m.Method == publishClass
		if lost {
			m = x.message()
		}
		if string(m.ID) != c.id || m.Error == nil || lost != c.loses {
			t.Errorf("%s: got id %s, error %+v, documents broken %v; want id %s, an error, documents broken %v",
				c.message, m.ID, m.Error, lost, c.id, c.loses)
		}
		x.notify("sequence/didClose", map[string]any{"uri": "u"})
	}
}

// TestIDOfLong checks that the error for a message that is too long has the message's id if the id is
// near the start, in both framings.
func TestIDOfLong(t *testing.T) {
	long := strings.Repeat("1", 5000)
	for _, c := range []struct{ message, id string }{
		{`{"jsonrpc":"2.0","id":7,"method":"sequence/classify","params":{"text":"` + long + `"}}`, "7"},
		{`{"jsonrpc":"2.0","method":"sequence/classify","id":"a b","params":{"text":"` + long + `"}}`, `"a b"`},
		{`{"jsonrpc":"2.0","method":"sequence/classify","params":{"id":8,"text":"` + long + `"},"id":7}`, "null"},
		{`{"jsonrpc":"2.0","id":{"id":7},"params":"` + long + `"}`, "null"},
		{`{"jsonrpc":"2.0","id":` + long + `}`, "null"},
		{`{"jsonrpc":"2.0","method":"sequence/classify","id":"` + long + `"}`, "null"},
		{`["id",7,"` + long + `"]`, "null"},
		{long, "null"},
	} {
		for _, framing := range []string{transport.Lines, transport.LSP} {
			o := testOptions(t, "pre")
			o.MaxLine, o.Framing = 3000, framing
			x := dial(t, startServer(t, o)).initialize(struct{}{})
			x.send(c.message)
			if m := x.message(); string(m.ID) != c.id || m.Error == nil || m.Error.Code != -32700 {
				t.Errorf("%s, %.60s: got id %s, error %+v, want id %s and error -32700", framing, c.message, m.ID,
					m.Error, c.id)
			}
			x.call(9, "model/info", nil, nil)
		}
	}
}
