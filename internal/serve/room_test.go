package serve

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/serve/transport"
)

// TestMemoryOfReading checks that incomplete messages take at most half of the memory, so that the
// server still serves other requests. A message above the limit gets a retryable error with its id
// once it is complete. A message that can never fit gets a permanent error.
func TestMemoryOfReading(t *testing.T) {
	for _, framing := range []string{transport.Lines, transport.LSP} {
		t.Run(framing, func(t *testing.T) {
			o := testOptions(t, "pre")
			const n = 8
			o.Framing, o.MaxMemory = framing, 6<<20
			s := startServer(t, o)
			text := fmt.Sprintf(`{"jsonrpc":"2.0","id":"x","method":"model/info","params":{"text":"%s"}}`,
				strings.Repeat("a", 1<<20))
			var clients []*client
			for range n {
				clients = append(clients, dial(t, s).initialize(struct{}{}))
			}
			other := dial(t, s).initialize(struct{}{})
			for _, c := range clients {
				whole := text + "\n"
				if framing == transport.LSP {
					whole = fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text)
				}
				must.Get(io.WriteString(c.conn, whole[:len(whole)-3]))(t)
			}
			eventually(t, "the messages are not counted", func() bool { return s.memory.used.Load() > 2<<20 })
			other.call(1, "sequence/classify", map[string]any{"tokens": []int{1}}, nil)
			if used := s.memory.used.Load(); used > o.MaxMemory {
				t.Errorf("got %d used bytes, want at most %d", used, o.MaxMemory)
			}
			refused := 0
			for _, c := range clients {
				end := "}}\n"
				if framing == transport.LSP {
					end = "\"}}"
				}
				io.WriteString(c.conn, end)
				m := c.response("x")
				if m.Error == nil {
					continue
				}
				refused++
				if m.Error.Code != -32000 || !strings.Contains(string(m.Error.Data), "retryAfter") {
					t.Errorf("got error %+v, want -32000 with retryAfter", m.Error)
				}
				defer func() {
					c.send(text)
					if m := c.response("x"); m.Error != nil {
						t.Errorf("retry: got error %+v, want a result", m.Error)
					}
				}()
			}
			if refused < n-3 || refused == n {
				t.Errorf("%d of %d messages were refused, want %d to %d", refused, n, n-3, n-1)
			}
			other.request("alone", "model/info", map[string]any{"text": strings.Repeat("a", 8<<20)})
			if m := other.message(); m.Error == nil || m.Error.Code != -32602 ||
				!strings.Contains(m.Error.Message, "half of --max-memory (set it to at least 1677") {
				t.Errorf("a message that can never fit: got error %+v, want -32602", m.Error)
			}
		})
	}
}

// TestBareLinesWaitForMemory checks that reading bare lines waits until memory is free, and that the
// server refuses a line that can never fit.
func TestBareLinesWaitForMemory(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxMemory = 1 << 20
	s := startServer(t, o)
	release := blockBatches(s)
	time.AfterFunc(50*time.Millisecond, func() { close(release) })
	c := dial(t, s)
	const n = 30
	go func() {
		for range n {
			fmt.Fprintf(c.conn, "{\"tokens\":[1]%s}\n", strings.Repeat(" ", 400<<10))
		}
		fmt.Fprintf(c.conn, "{\"tokens\":[1]%s}\n", strings.Repeat(" ", 2<<20))
		c.closeWrite()
	}()
	replies, err := c.end()
	if len(replies) != n+1 || err != nil {
		t.Fatalf("got %d responses, error %v, want %d and no error", len(replies), err, n+1)
	}
	for _, r := range replies[:n] {
		if !strings.Contains(r, `"label"`) {
			t.Fatalf("got %s, want a label", r)
		}
	}
	if !strings.Contains(replies[n], "-32602") {
		t.Errorf("a line that can never fit: got %s, want -32602", replies[n])
	}
}

// TestBareLineOfAllMemory checks that a line is refused immediately if its tokens alone fit into memory,
// but not together with its text.
func TestBareLineOfAllMemory(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxMemory = 1 << 20
	s := startServer(t, o)
	c := dial(t, s)
	line := fmt.Sprintf(`{"tokens":[%s1]}`, strings.Repeat("1,", 225<<10)) // 450 KiB of text, 900 KiB of tokens
	began := time.Now()
	go func() {
		fmt.Fprintln(c.conn, line)
		c.closeWrite()
	}()
	replies, err := c.end()
	if len(replies) != 1 || err != nil || !strings.Contains(replies[0], "-32602") ||
		!strings.Contains(replies[0], "--max-memory: it needs at least ") || time.Since(began) > bareWait/2 {
		t.Errorf("after %v: got %q, error %v, want -32602 immediately", time.Since(began), replies, err)
	}
}

// TestMemoryOfSessions checks that --max-memory limits the number of sessions.
func TestMemoryOfSessions(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxMemory = 2 * 2 * sessionBytes
	s := startServer(t, o)
	first := dial(t, s).initialize(struct{}{})
	dial(t, s).initialize(struct{}{})
	more := dial(t, s)
	if m := more.message(); m.Error == nil || m.Error.Code != -32000 || string(m.ID) != "null" ||
		!strings.Contains(m.Error.Message, fmt.Sprintf("--max-memory (one more connection needs at least %d bytes)",
			2*3*sessionBytes)) {
		t.Errorf("got %+v, want error -32000", m)
	}
	if rest, err := more.end(); len(rest) > 0 || err == nil {
		t.Errorf("got messages %q, error %v, want the session to end", rest, err)
	}
	first.closeWrite()
	first.end()
	dial(t, s).initialize(struct{}{})
}
