package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/serve/transport"
)

// transcripts are the pages with examples: blocks of messages from (">") and to ("<") a client. A
// block's first line names the model and options:
//
//	```jsonrpc pre        an initialized session
//	```jsonrpc pre raw    a session that is not initialized
//	```jsonrpc pre index  with an index
//	```jsonrpc pre held   no batch starts before the line "# release"
//	```jsonrpc pre quiet  documents are not classified automatically
//	```jsonrpc pre busy   as held, with at most 2 pending requests, 2 documents and 300 bytes per message
//
// After a request the test waits for its response, unless the block is held or busy, or the line
// "# next" follows. "# next" reads one message, and "# end" reads to the end of the session.
var transcripts = []string{protocolPage, errorsPage}

const (
	protocolPage = "../../docs/protocol.md"
	errorsPage   = "testdata/errors.md"
)

var blockStart = regexp.MustCompile("^```jsonrpc (.*)$")

// TestTranscripts replays every block in both framings and compares the messages; -update rewrites
// the responses.
func TestTranscripts(t *testing.T) {
	for _, page := range transcripts {
		text := must.Get(os.ReadFile(page))(t)
		masked := maps.Clone(varying)
		masked["methods"] = page == errorsPage // only the protocol page lists the methods
		lines := strings.Split(string(text), "\n")
		var out []string
		for i := 0; i < len(lines); i++ {
			m := blockStart.FindStringSubmatch(lines[i])
			out = append(out, lines[i])
			if m == nil {
				continue
			}
			end := i + 1
			for lines[end] != "```" {
				end++
			}
			block := lines[i+1 : end]
			var got []string
			for _, framing := range []string{transport.Lines, transport.LSP} {
				t.Run(fmt.Sprintf("%s:%d %s", filepath.Base(page), i+1, framing), func(t *testing.T) {
					got = replay(t, framing, strings.Fields(m[1]), block, masked)
					if !*update {
						compareBlocks(t, got, block)
					}
				})
			}
			out = append(out, got...)
			i = end - 1
		}
		if *update && !t.Failed() {
			must.Succeed(t, os.WriteFile(page, []byte(strings.Join(out, "\n")), 0o666))
		}
	}
}

func replay(t *testing.T, framing string, words, block []string, masked map[string]bool) (got []string) {
	o := testOptions(t, words[0])
	o.Framing = framing
	if slices.Contains(words, "index") {
		o.Index = filepath.Join(t.TempDir(), "index.arrow")
	}
	if slices.Contains(words, "quiet") {
		o.Debounce = time.Hour
	}
	if slices.Contains(words, "busy") {
		o.MaxInflight, o.MaxDocuments, o.MaxLine = 2, 2, 300
	}
	s := startServer(t, o)
	release := make(chan struct{})
	held := slices.Contains(words, "held") || slices.Contains(words, "busy")
	if held {
		s.batcher.Before = func(ctx context.Context) {
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
	}
	c := dial(t, s)
	if !slices.Contains(words, "raw") {
		c.initialize(struct{}{})
	}
	take := func() string {
		m := c.receive()
		if m != "" {
			got = append(got, "< "+mask(t, m, masked))
		}
		return m
	}
	block = slices.DeleteFunc(slices.Clone(block), func(line string) bool { return line == "" || line[0] == '<' })
	for i, line := range block {
		got = append(got, line)
		switch {
		case line == "# next":
			take()
		case line == "# release":
			close(release)
		case line == "# end":
			for take() != "" {
			}
			status := 0
			if <-c.ended != nil {
				status = 1
			}
			got = append(got, fmt.Sprintf("< status %d", status))
		case strings.HasPrefix(line, "> "):
			c.send(line[2:])
			var m anyMessage
			if json.Unmarshal([]byte(line[2:]), &m) != nil || m.ID == nil || m.Method == "" {
				continue
			}
			if held || i+1 < len(block) && block[i+1] == "# next" {
				continue
			}
			for {
				var a anyMessage
				text := take()
				if text == "" {
					t.Fatalf("%s: the session ended before the response", line)
				}
				json.Unmarshal([]byte(text), &a)
				if a.Method == "" && string(a.ID) == string(m.ID) {
					break
				}
			}
		}
	}
	return got
}

// varying is the set of fields whose values differ between runs or machines.
var varying = map[string]bool{"hash": true, "device": true, "uptimeSeconds": true, "computingSeconds": true,
	"recent": true, "memoryBytes": true, "bytes": true}

// mask rounds fractional numbers to three significant digits and replaces the values of masked fields.
func mask(t *testing.T, message string, masked map[string]bool) string {
	var order func(d *json.Decoder) string
	order = func(d *json.Decoder) string {
		token := must.Get(d.Token())(t, message)
		switch v := token.(type) {
		case json.Delim:
			var parts []string
			for d.More() {
				if v == '{' {
					key, _ := d.Token()
					value := order(d)
					if masked[key.(string)] {
						value = `"…"`
					}
					parts = append(parts, fmt.Sprintf("%q:%s", key, value))
				} else {
					parts = append(parts, order(d))
				}
			}
			d.Token()
			if v == '{' {
				return "{" + strings.Join(parts, ",") + "}"
			}
			return "[" + strings.Join(parts, ",") + "]"
		case json.Number:
			if f, _ := v.Float64(); strings.ContainsAny(string(v), ".e") {
				return fmt.Sprintf("%.3g", f)
			}
			return string(v)
		case string:
			text, _ := json.Marshal(v)
			return string(text)
		}
		text, _ := json.Marshal(token)
		return string(text)
	}
	d := json.NewDecoder(strings.NewReader(message))
	d.UseNumber()
	return order(d)
}

// compareBlocks compares messages with the messages of a page. Numbers may differ as much as they
// do between CPUs.
func compareBlocks(t *testing.T, got, want []string) {
	t.Helper()
	want = slices.DeleteFunc(slices.Clone(want), func(s string) bool { return s == "" })
	for i := range max(len(got), len(want)) {
		g, w := "", ""
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g == w {
			continue
		}
		var x, y any
		if len(g) < 2 || len(w) < 2 || json.Unmarshal([]byte(g[2:]), &x) != nil ||
			json.Unmarshal([]byte(w[2:]), &y) != nil || !nearlyEqual(x, y) {
			t.Errorf("message %d:\n%s\nexpected\n%s", i, g, w)
			return
		}
	}
}

func nearlyEqual(x, y any) bool {
	switch x := x.(type) {
	case float64:
		y, ok := y.(float64)
		return ok && math.Abs(x-y) <= 0.02*math.Abs(x)+2e-3
	case map[string]any:
		y, ok := y.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k := range x {
			if _, ok := y[k]; !ok || !nearlyEqual(x[k], y[k]) {
				return false
			}
		}
		return true
	case []any:
		y, ok := y.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !nearlyEqual(x[i], y[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(x, y)
}

// TestTranscriptsNameEveryMethod checks that the protocol page has an example of every method.
func TestTranscriptsNameEveryMethod(t *testing.T) {
	text := must.Get(os.ReadFile(protocolPage))(t)
	var names []string
	for name := range methods {
		names = append(names, name)
	}
	for name := range ordered {
		names = append(names, name)
	}
	for name := range notifications {
		names = append(names, name)
	}
	for _, name := range append(names, "exit") {
		if !strings.Contains(string(text), fmt.Sprintf("\"method\":%q", name)) {
			t.Errorf("%s: no example of %s", protocolPage, name)
		}
	}
}
