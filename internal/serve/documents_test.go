package serve

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
)

func decode(t testing.TB, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
}

// longModel returns a loader of an untrained model with a byte tokenizer and a maximum of 2¹⁸
// tokens.
func longModel(t testing.TB) func() (*Model, error) {
	return func() (*Model, error) {
		m := must.Get(sft.Load(goldenDir + "/pre"))(t)
		c := *m.Config
		c.VocabSize, c.MaxLength, c.Tokenizer = 257, 1<<18, json.RawMessage(`{"type":"byte"}`)
		return onCPU(sft.NewModel(&c, 3), "long")
	}
}

// mirror is the client's copy of a document, in UTF-8 bytes or UTF-16 code units.
type mirror struct {
	utf8  []byte
	utf16 []uint16 // used instead of utf8 if wide
	wide  bool
}

func newMirror(encoding string) *mirror { return &mirror{wide: encoding == "utf-16"} }

func (m *mirror) String() string {
	if m.wide {
		return string(utf16.Decode(m.utf16))
	}
	return string(m.utf8)
}

func (m *mirror) length() int { return max(len(m.utf8), len(m.utf16)) }

// boundary returns the given offset, or the end of the character around it.
func (m *mirror) boundary(at int) int {
	for at < m.length() && (m.wide && m.utf16[at]>>10 == 0xDC00>>10 || !m.wide && !utf8.RuneStart(m.utf8[at])) {
		at++
	}
	return at
}

func (m *mirror) replace(start, end int, text string) {
	if m.wide {
		m.utf16 = slices.Replace(m.utf16, start, end, utf16.Encode([]rune(text))...)
	} else {
		m.utf8 = slices.Replace(m.utf8, start, end, []byte(text)...)
	}
}

// TestEdits sends random edits with offsets in UTF-8 bytes or UTF-16 code units. The server's text must equal
// the client's. Versions must be pushed in order, and the last pushed class must equal that of the
// final text.
func TestEdits(t *testing.T) {
	edits, size := 1000, 5000
	if !testing.Short() {
		edits, size = 10000, 100000
	}
	pieces := []string{"a", "bc", "é", "日本", "𝄞", "\n", "", "plain text of some length", strings.Repeat("x", 200)}
	for _, encoding := range []string{"utf-8", "utf-16"} {
		t.Run(encoding, func(t *testing.T) {
			o := testOptions(t, "pre")
			o.Load = longModel(t)
			o.Debounce = 20 * time.Millisecond
			s := startServer(t, o)
			c := dial(t, s).initialize(encodingParams(encoding))
			r := rand.New(rand.NewPCG(1, 2))
			text := newMirror(encoding)
			for n := 0; n < size; {
				piece := pieces[r.IntN(len(pieces))]
				text.replace(0, 0, piece)
				n += len(piece)
			}
			const uri = "file:///d"
			c.notify("sequence/didOpen", map[string]any{"uri": uri, "version": 0, "text": text.String()})
			version := 0
			for done := 0; done < edits; {
				version++
				var changes []any
				for range 1 + r.IntN(20) {
					done++
					start := text.boundary(r.IntN(text.length() + 1))
					end := text.boundary(min(text.length(), start+r.IntN(40)))
					switch r.IntN(20) {
					case 0:
						start, end = text.length(), text.length()
					case 1:
						end = start
					}
					insert := pieces[r.IntN(len(pieces))]
					changes = append(changes,
						map[string]any{"range": map[string]any{"start": start, "end": end}, "text": insert})
					text.replace(start, end, insert)
				}
				c.notify("sequence/didChange", map[string]any{"uri": uri, "version": version, "changes": changes})
			}
			// The server handles the request after all changes, so the document is final when the response arrives.
			var info anyClassification
			c.request("now", "sequence/classify", map[string]any{"uri": uri})
			last, responded, pushed := -1, false, published{}
			for last < version || !responded {
				m := c.message()
				if string(m.ID) == `"now"` {
					decode(t, m.Result, &info)
					responded = true
					continue
				}
				if m.Method != "sequence/publishClassification" {
					t.Fatalf("got %+v, want sequence/publishClassification", m)
				}
				var p published
				decode(t, m.Params, &p)
				if int(p.Version) <= last {
					t.Fatalf("version %d was pushed after version %d", p.Version, last)
				}
				last, pushed = int(p.Version), p
			}
			if got := documentText(s, uri); got != text.String() {
				t.Fatalf("got a different text of %d bytes, want %d bytes", len(got), len(text.String()))
			}
			var final anyClassification
			c.call("final", "sequence/classify", map[string]any{"text": text.String()}, &final)
			if !slices.Equal(pushed.Logits, final.Logits) || !slices.Equal(info.Logits, final.Logits) ||
				fmt.Sprint(pushed.Label) != fmt.Sprint(final.Label) {
				t.Errorf("got logits %v pushed and %v by uri, want %v", pushed.Logits, info.Logits, final.Logits)
			}
			c.notify("sequence/didClose", map[string]any{"uri": uri})
			c.expectError("closed", "sequence/classify", map[string]any{"uri": uri}, -32602, "no document")
		})
	}
}

// documentText returns the server's text of a document, or "" if it is not open.
func documentText(s *Server, uri string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for x := range s.sessions {
		if d := x.documents.find(uri); d != nil {
			d.mu.Lock()
			defer d.mu.Unlock()
			return d.text.String()
		}
	}
	return ""
}

// TestDocumentChangesMeanwhile checks that a request fails with −32801 if its document is edited
// before the response.
func TestDocumentChangesMeanwhile(t *testing.T) {
	o := testOptions(t, "pre")
	o.Debounce = time.Hour
	s := startServer(t, o)
	release := blockBatches(s)
	c := dial(t, s).initialize(struct{}{})
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": "[MAX 2 9 ]"})
	c.request(1, "sequence/classify", map[string]any{"uri": "u"})
	eventually(t, "no batch runs", func() bool { _, _, running := queueState(s); return running > 0 })
	c.request(2, "sequence/classify", map[string]any{"uri": "u"}) // the server may not have started this request yet
	c.notify("sequence/didChange", map[string]any{"uri": "u", "version": 2, "changes": []any{}})
	for range 2 {
		if m := c.message(); m.Error == nil || m.Error.Code != -32801 ||
			string(m.Error.Data) != `{"field":"uri","uri":"u","version":2}` {
			t.Errorf("request %s: got %s, error %+v, want -32801", m.ID, m.Result, m.Error)
		}
	}
	eventually(t, "the batch still runs", func() bool { jobs, _, running := queueState(s); return running+jobs == 0 })
	close(release)
}

// TestLongDocument checks that a document above the maximum length gets an error, unless the client
// opens it with a window.
func TestLongDocument(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	c := dial(t, s).initialize(struct{}{})
	text := strings.Repeat("1 ", 6000)
	c.notify("sequence/didOpen", map[string]any{"uri": "a", "version": 1, "text": text})
	var p published
	decode(t, c.message().Params, &p)
	if p.Error == nil || p.Error.Code != -32602 || p.Length != 6000 || p.Label != nil ||
		!strings.Contains(string(p.Error.Data), `"longest":4096`) {
		t.Errorf("got pushed %+v, want error -32602 for 6000 tokens", p)
	}
	c.notify("sequence/didOpen", map[string]any{"uri": "b", "version": 1, "text": text,
		"window": map[string]any{"policy": "sliding", "length": 4000, "stride": 1500}})
	p = published{}
	decode(t, c.message().Params, &p)
	if p.Error != nil || len(p.Windows) != 3 || p.Window.End != 6000 ||
		p.Windows[2].(map[string]any)["start"] != 2000.0 {
		t.Errorf("got pushed %+v, want 3 windows", p)
	}
}

// TestClosedBehindRequest checks requests whose document the client closes right after the request. They
// either succeed or fail with −32801.
func TestClosedBehindRequest(t *testing.T) {
	o := testOptions(t, "pre")
	o.Debounce = time.Hour
	c := dial(t, startServer(t, o)).initialize(struct{}{})
	missed := 0
	for n := range 200 {
		closing := `{"jsonrpc":"2.0","method":"sequence/didClose","params":{"uri":"u"}}`
		if n%2 == 1 { // a malformed didOpen closes the document as well
			closing = `{"jsonrpc":"2.0","method":"sequence/didOpen","params":{"uri":"u","version":"badly"}}`
		}
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"sequence/didOpen","params":{"uri":"u","version":1,"text":"1 2"}}
{"jsonrpc":"2.0","id":%d,"method":"sequence/classify","params":{"uri":"u"}}
%s`, n, closing))
		m := c.response(n)
		if m.Error != nil && (m.Error.Code != -32801 || !strings.Contains(string(m.Error.Data), `"uri":"u"`)) {
			t.Fatalf("round %d: got error %+v, want -32801", n, m.Error)
		}
		if m.Error != nil && strings.Contains(m.Error.Message, "was closed") {
			missed++
		}
	}
	t.Logf("%d requests failed because their document was closed", missed)
	c.expectError("later", "sequence/classify", map[string]any{"uri": "u"}, -32602, "no document")
}

// TestVersionWanted checks that a request with a version fails unless the document has this
// version.
func TestVersionWanted(t *testing.T) {
	o := optionsWithIndex(t, "pre")
	o.Debounce = time.Hour
	c := dial(t, startServer(t, o)).initialize(struct{}{})
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 3, "text": "1 2"})
	c.call(1, "sequence/classify", map[string]any{"uri": "u", "version": 3}, nil)
	var out addResult
	if c.call(2, "retrieval/add", map[string]any{"id": "a", "uri": "u", "version": 3}, &out); out.Version == nil ||
		*out.Version != 3 || out.URI != "u" {
		t.Errorf("got %+v, want version 3 of u", out)
	}
	for _, method := range []string{"sequence/classify", "sequence/embed", "retrieval/search"} {
		c.expectError(3, method, map[string]any{"uri": "u", "version": 4}, -32801,
			"version: expected version 4 of u, found 3")
		c.expectError(4, method, map[string]any{"text": "1", "version": 3}, -32602,
			"version: expected only with uri, found with text")
		c.expectError(5, method, map[string]any{"uri": "u", "version": "3"}, -32602,
			`version: expected a whole number, found "3"`)
	}
}

// openScheduled returns the open document with the given URI.
func openScheduled(t testing.TB, s *Server, uri string) *document {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for x := range s.sessions {
		if d := x.documents.find(uri); d != nil {
			return d
		}
	}
	t.Fatalf("%s is not open", uri)
	return nil
}

// TestLateTimer checks that a debounce timer that fires during a change does not push the changed
// text. The change's own timer pushes it.
func TestLateTimer(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	c := dial(t, s).initialize(struct{}{})
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": "1 2"})
	c.call(1, "model/info", nil, nil)
	d := openScheduled(t, s, "u")
	d.mu.Lock()
	d.schedule(0)
	time.Sleep(50 * time.Millisecond) // the timer has fired, and its function waits for the lock
	d.schedule(10 * time.Millisecond)
	d.mu.Unlock()
	c.closeWrite()
	messages, _ := c.end()
	count := 0
	for _, m := range messages {
		if strings.Contains(m, "publishClassification") {
			count++
		}
	}
	if count != 1 {
		t.Errorf("the class was pushed %d times, want once: %q", count, messages)
	}
}

// countedBytes returns the number of bytes counted for a document.
func countedBytes(d *document) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reservedBytes
}

// TestClassWaitsForMemory checks that a class is pushed once memory is free. At the end of the
// input the server pushes an error instead of waiting.
func TestClassWaitsForMemory(t *testing.T) {
	o := testOptions(t, "pre")
	o.Debounce = 50 * time.Millisecond
	s := startServer(t, o)
	for _, end := range []bool{false, true} {
		c := dial(t, s).initialize(struct{}{})
		c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": strings.Repeat("1 ", 1000)})
		c.call(1, "model/info", nil, nil)
		d, taken := openScheduled(t, s, "u"), int64(0)
		eventually(t, "the response still counts as memory",
			func() bool {
				taken = s.memory.limit - s.memory.used.Load()
				return s.memory.used.Load() == countedBytes(d)
			})
		taken -= 1000
		s.memory.reserve(taken)
		time.Sleep(4 * o.Debounce)
		if n := len(c.in); n > 0 {
			t.Errorf("got %d messages without memory, want none: %s", n, c.receive())
		}
		if end {
			c.closeWrite()
		} else {
			s.memory.release(taken)
		}
		var p published
		if decode(t, c.message().Params, &p); (p.Error != nil) != end || (p.Label == nil) != end {
			t.Errorf("end of input %v: got pushed %+v, want an error at the end and a label otherwise", end, p)
		}
		if end {
			s.memory.release(taken)
		} else {
			c.closeWrite()
		}
		c.end()
	}
}

// TestClassOfCutText checks the field "used" in the pushed class of a truncated document and in
// responses.
func TestClassOfCutText(t *testing.T) {
	c := dial(t, startServer(t, truncatingOptions(t, "pre"))).initialize(struct{}{})
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": strings.Repeat("1 ", 5000)})
	var p struct{ Length, Used int }
	if decode(t, c.message().Params, &p); p.Length != 5000 || p.Used != 4096 {
		t.Errorf("got pushed %+v, want length 5000 and used 4096", p)
	}
	for policy, used := range map[string]int{"tail": 100, "sliding": 5000} {
		c.call(policy, "sequence/classify", map[string]any{"text": strings.Repeat("1 ", 5000),
			"window": map[string]any{"policy": policy, "length": 100}}, &p)
		if p.Length != 5000 || p.Used != used {
			t.Errorf("%s: got %+v, want length 5000 and used %d", policy, p, used)
		}
	}
}

// TestDocumentGivesBack checks that a document frees memory after a change that shortens its text.
func TestDocumentGivesBack(t *testing.T) {
	o := testOptions(t, "pre")
	o.Debounce = time.Hour
	s := startServer(t, o)
	c := dial(t, s).initialize(struct{}{})
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": strings.Repeat("1", 1<<20)})
	c.notify("sequence/didChange", map[string]any{"uri": "u", "version": 2,
		"changes": []any{map[string]any{"range": map[string]any{"start": 10, "end": 1 << 20}, "text": ""}}})
	c.call(1, "model/info", nil, nil)
	if text := documentText(s, "u"); text != "1111111111" {
		t.Fatalf("got text %.30q, want ten digits 1", text)
	}
	for x := range s.sessions {
		d := x.documents.find("u")
		d.mu.Lock()
		if room := d.text.Allocated(); room > 1000 || d.reservedBytes != int64(room) {
			t.Errorf("the text takes %d bytes and %d are counted, want the same number of at most 1000", room,
				d.reservedBytes)
		}
		d.mu.Unlock()
	}
}

// TestEndPushesClasses checks that the server pushes the class of every open document at the end of
// the input, but not after the notification exit.
func TestEndPushesClasses(t *testing.T) {
	o := testOptions(t, "pre")
	o.Debounce = time.Hour
	s := startServer(t, o)
	for _, exit := range []bool{false, true} {
		c := dial(t, s).initialize(struct{}{})
		for _, uri := range []string{"a", "b"} {
			c.notify("sequence/didOpen", map[string]any{"uri": uri, "version": 1, "text": "[MAX 2 9 ]"})
		}
		want := 2
		if exit {
			c.call(1, "shutdown", nil, nil)
			c.notify("exit", nil)
			want = 0
		} else {
			c.closeWrite()
		}
		pushes, err := c.end()
		if len(pushes) != want || err != nil {
			t.Errorf("got pushes %q, error %v, want %d pushes", pushes, err, want)
		}
	}
}

// TestCancelAfterShutdown checks that a pending request can be cancelled after shutdown.
func TestCancelAfterShutdown(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	blockBatches(s)
	c := dial(t, s).initialize(struct{}{})
	c.request(1, "sequence/classify", map[string]any{"tokens": []int{1}})
	c.call(2, "shutdown", nil, nil)
	c.notify("$/cancelRequest", map[string]any{"id": 1})
	if m := c.response(1); m.Error == nil || m.Error.Code != -32800 {
		t.Errorf("got %s, error %+v, want -32800", m.Result, m.Error)
	}
}

// TestTypedByHalves checks edits of a UTF-16 client that insert or delete half of a surrogate pair.
// While a half stands alone the document has an error instead of a class. Later edits still apply.
func TestTypedByHalves(t *testing.T) {
	o := testOptions(t, "pre")
	o.Load, o.Debounce = longModel(t), 0
	s := startServer(t, o)
	c := dial(t, s).initialize(encodingParams("utf-16"))
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 0, "text": "ab"})
	c.message()
	for n, step := range []struct {
		start, end int
		text       string // JSON escapes
		want       string // "" if a surrogate is alone
		lone       int    // offset of this surrogate
	}{
		{1, 1, `\ud83d`, "", 1},
		{2, 2, `\ude42`, "a🙂b", 0},
		{1, 2, ``, "", 1}, // deletes the first half
		{1, 1, `\ud83d`, "a🙂b", 0},
		{2, 2, `x`, "", 1},
		{2, 3, ``, "a🙂b", 0},
		{2, 3, `\ude43`, "a🙃b", 0},
		{0, 0, `\ud83d`, "", 0},
		{0, 1, ``, "a🙃b", 0},
		{1, 3, `\ud83d\ude42\ud83d`, "", 3},
		{4, 4, `\ude43`, "a🙂🙃b", 0},
	} {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"sequence/didChange","params":{"uri":"u","version":%d,"changes":[{"range":{"start":%d,"end":%d},"text":"%s"}]}}`, n+1, step.start, step.end, step.text))
		var p published
		if decode(t, c.message().Params, &p); step.want == "" {
			if want := fmt.Sprintf("text: the UTF-16 code unit at offset %d is a lone surrogate",
				step.lone); p.Error == nil || p.Error.Message != want {
				t.Fatalf("step %d: got error %+v, want %s", n, p.Error, want)
			}
			c.expectError(n, "sequence/classify", map[string]any{"uri": "u"}, -32602, "lone surrogate")
		} else if got := documentText(s, "u"); got != step.want || p.Error != nil || p.Length != len(step.want) {
			t.Fatalf("step %d: got text %q, pushed %+v; want text %q", n, got, p, step.want)
		}
	}
}
