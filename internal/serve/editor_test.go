package serve

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/requests"
)

// encodingParams returns initialize params that offer position encodings of LSP.
func encodingParams(encodings ...string) map[string]any {
	return map[string]any{"capabilities": map[string]any{"general": map[string]any{"positionEncodings": encodings}}}
}

// sliceText returns the part of text between two offsets in the given unit.
func sliceText(text, unit string, start, end int) string {
	switch unit {
	case requests.UTF8:
		return text[start:end]
	case requests.UTF16:
		return string(utf16.Decode(utf16.Encode([]rune(text))[start:end]))
	}
	return string([]rune(text)[start:end])
}

// TestUnits checks the unit of span offsets. Spans and edits use the encoding negotiated in
// initialize, for texts and documents. For a client that is not an editor, the default is bytes. Bare
// lines use characters.
func TestUnits(t *testing.T) {
	s := startServer(t, testOptions(t, "tagging"))
	const text = "😀 Ann Lée met Zoë in New York."
	type reply struct {
		Spans []struct{ Start, End int }
		Unit  string
	}
	words := func(r reply, text string) (out []string) {
		for _, x := range r.Spans {
			out = append(out, sliceText(text, r.Unit, x.Start, x.End))
		}
		return out
	}
	bare := dial(t, s)
	bare.send(`{"id":7,"text":"` + text + `"}`)
	var line reply
	decode(t, []byte(bare.receive()), &line)
	want := words(line, text)
	if line.Unit != requests.Characters || !slices.Contains(want, "Zoë") {
		t.Fatalf("bare line: got words %q, %+v, want characters and Zoë", want, line)
	}
	for encodings, unit := range map[string]string{"": requests.UTF8, "utf-8": requests.UTF8, "utf-16": requests.UTF16,
		"utf-32 utf-16": requests.Characters} {
		c := dial(t, s)
		if encodings == "" {
			c.initialize(nil)
		} else {
			c.initialize(encodingParams(strings.Fields(encodings)...))
		}
		var single, bytes, document reply
		c.call(1, "sequence/tag", map[string]any{"text": text}, &single)
		c.call(2, "sequence/tag", map[string]any{"bytes": []byte(text)}, &bytes)
		c.notify("sequence/didOpen", map[string]any{"uri": "a", "version": 1, "text": text})
		c.call(3, "sequence/tag", map[string]any{"uri": "a"}, &document)
		for _, r := range []reply{single, bytes, document} {
			if got := words(r, text); r.Unit != unit || !slices.Equal(got, want) {
				t.Errorf("encodings %q: got words %q, want %q: %+v", encodings, got, want, r)
			}
		}
		// An edit at the offsets of a span replaces that span.
		x := single.Spans[slices.Index(want, "Zoë")]
		c.notify("sequence/didChange", map[string]any{"uri": "a", "version": 2,
			"changes": []any{map[string]any{"range": map[string]int{"start": x.Start, "end": x.End}, "text": "Zöe"}}})
		edited := strings.Replace(text, "Zoë", "Zöe", 1)
		c.call(4, "sequence/tag", map[string]any{"uri": "a"}, &document)
		c.call(5, "sequence/tag", map[string]any{"text": edited}, &single)
		if !slices.Equal(words(document, edited), words(single, edited)) {
			t.Errorf("encodings %q: edited document has %+v, want %+v", encodings, document, single)
		}
	}
}

// formatDiagnostics returns the parts of text that the diagnostics underline. The positions of the
// diagnostics are in UTF-16 code units.
func formatDiagnostics(t *testing.T, text string, shown []diagnostic) (out []string) {
	t.Helper()
	var lines [][]uint16
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, utf16.Encode([]rune(line)))
	}
	for _, x := range shown {
		if x.Range.Start.Line != x.Range.End.Line || x.Source != "sftseq" || x.Severity != severityInformation ||
			!strings.HasPrefix(x.Message, x.Code+" 0.") {
			t.Errorf("got diagnostic %+v, want severity information, source sftseq, one line and a probability", x)
		}
		line := lines[x.Range.Start.Line]
		out = append(out, string(utf16.Decode(line[x.Range.Start.Character:x.Range.End.Character])))
	}
	return out
}

// TestEditor checks the LSP methods for editors. Spans of open documents appear as diagnostics, with
// positions in UTF-16 code units by default, and closing a document clears them.
func TestEditor(t *testing.T) {
	s := startServer(t, testOptions(t, "tagging"))
	c := dial(t, s)
	var hello initializeResult
	c.call("initialize", "initialize", map[string]any{"processId": nil, "rootUri": nil, "trace": "off",
		"capabilities": map[string]any{"textDocument": map[string]any{
			"publishDiagnostics": map[string]any{"relatedInformation": true}}}}, &hello)
	c.notify("initialized", struct{}{})
	if sync := hello.Capabilities.TextDocumentSync; sync == nil || !sync.OpenClose || sync.Change != 1 ||
		hello.Capabilities.PositionEncoding != "utf-16" {
		t.Fatalf("got capabilities %+v, want full text synchronisation in UTF-16", hello.Capabilities)
	}
	next := func() (d diagnostics) {
		t.Helper()
		m := c.message()
		if m.Method != "textDocument/publishDiagnostics" {
			t.Fatalf("got %+v, want textDocument/publishDiagnostics", m)
		}
		must.Succeed(t, json.Unmarshal(m.Params, &d))
		return d
	}
	check := func(text string, version int64) {
		t.Helper()
		d := next()
		var want struct{ Spans []struct{ Start, End int } }
		c.call("tag", "sequence/tag", map[string]any{"text": text}, &want)
		var words []string
		for _, x := range want.Spans {
			words = append(words, sliceText(text, requests.UTF16, x.Start, x.End))
		}
		if got := formatDiagnostics(t, text, d.Diagnostics); d.URI != "file:///a" || *d.Version != version ||
			len(got) == 0 ||
			!slices.Equal(got, words) {
			t.Errorf("got words %q, want %q: %+v", got, words, d)
		}
	}
	const text = "Ann Lee\nmet 😀 Zoë\r\nin New York.\n"
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": "file:///a",
		"languageId": "text", "version": 0, "text": text}})
	check(text, 0)
	const changed = "\n\n😀 Ann Lee met Zoë in New York."
	c.notify("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": "file:///a", "version": 4},
		"contentChanges": []any{map[string]any{"text": "x"}, map[string]any{"text": changed}}})
	check(changed, 4)
	c.notify("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": "file:///a", "version": 5},
		"contentChanges": []any{map[string]any{"text": " \n"}}})
	if d := next(); len(d.Diagnostics) != 0 || *d.Version != 5 {
		t.Errorf("got %+v, want no diagnostics for a blank document", d)
	}
	// The server requested whole texts, so a change of a range cannot be applied. A diagnostic reports
	// the error.
	c.notify("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": "file:///a", "version": 6},
		"contentChanges": []any{map[string]any{"text": "x", "range": map[string]any{
			"start": map[string]int{"line": 0, "character": 0}, "end": map[string]int{"line": 0, "character": 1}}}}})
	if d := next(); len(d.Diagnostics) != 1 || d.Diagnostics[0].Severity != severityWarning ||
		!strings.Contains(d.Diagnostics[0].Message, "send the whole text") {
		t.Errorf("got diagnostics %+v, want one warning", d)
	}
	c.message() // the log message
	c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": "file:///a"}})
	if d := next(); len(d.Diagnostics) != 0 || d.URI != "file:///a" {
		t.Errorf("got %+v, want no diagnostics for file:///a", d)
	}
	c.notify("textDocument/didOpen", map[string]any{"uri": "file:///a"})
	if m := c.message(); m.Method != "window/logMessage" ||
		!strings.Contains(string(m.Params), "textDocument: expected an object, found none") {
		t.Errorf("got %s, want a log message about textDocument", m.Params)
	}
	other := dial(t, startServer(t, testOptions(t, "pre")))
	hello = initializeResult{}
	other.call(1, "initialize", map[string]any{"capabilities": map[string]any{"textDocument": map[string]any{
		"publishDiagnostics": map[string]any{}}}}, &hello)
	if hello.Capabilities.TextDocumentSync != nil {
		t.Error("a classifier requests documents from the editor, want no synchronisation")
	}
}
