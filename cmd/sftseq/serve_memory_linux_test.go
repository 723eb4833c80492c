package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
)

// TestServeMemory checks that clients with large documents, edits, requests, lines or malformed requests
// increase the server's resident memory by at most 1.5 times --max-memory. The increase includes the
// temporary memory for reading requests and writing responses. The server must accept at least a
// quarter of the rounds.
func TestServeMemory(t *testing.T) {
	const limit, length, clients, rounds = 256 << 20, 8 << 20, 16, 3
	for _, c := range []struct {
		name string
		act  func(c *editor, round int)
	}{
		{"edits", func(c *editor, round int) { // edits throughout large documents
			if round == 0 {
				c.open(length)
			}
			c.change(2000)
		}},
		{"openings", func(c *editor, _ int) { c.open(length * 3 / 4) }},
		{"texts", func(c *editor, _ int) { // long texts in requests
			c.send(`{"jsonrpc":"2.0","id":%d,"method":"sequence/classify","params":{"text":"%s"}}`, c.nextID(),
				strings.Repeat("7 ", length/4))
		}},
		{"lines", func(c *editor, _ int) { c.send(`{"text":"%s"}`, strings.Repeat("7 ", length/4)) }},
		{"malformed requests", func(c *editor, _ int) {
			c.send(`{"jsonrpc":"2.0","method":"sequence/classify","params":{"text":"%s"},"id":}`,
				strings.Repeat("7 ", length/2))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "s")
			server := exec.Command(built(t), "serve", "--model", goldenPath("pre"), "--listen", "unix:"+socket,
				"--max-memory", fmt.Sprint(limit), "--debounce", "20ms")
			untilListening(t, server)

			warmup := newEditor(t, socket) // allocates the memory of the model's forward passes
			warmup.send(`{"jsonrpc":"2.0","id":%d,"method":"sequence/classify","params":{"text":"%s"}}`,
				warmup.nextID(), strings.Repeat("7 ", 4000))
			warmup.finish()
			idle := resident(t, server.Process.Pid, "VmRSS")
			var running sync.WaitGroup
			var editors []*editor
			for range clients {
				e := newEditor(t, socket)
				editors = append(editors, e)
				running.Go(func() {
					for round := range rounds {
						c.act(e, round)
						e.finish()
					}
				})
			}
			running.Wait()
			accepted := 0
			for _, e := range editors {
				accepted += e.accepted
			}
			additional := resident(t, server.Process.Pid, "VmHWM") - idle
			t.Logf("%d MiB beyond %d MiB; %d accepted rounds", additional>>20, idle>>20, accepted)
			if additional > limit*3/2 {
				t.Errorf("%d MiB beyond the %d MiB of an idle server, at most %d are allowed",
					additional>>20, idle>>20, limit*3/2>>20)
			}
			if additional < limit/4 || accepted < clients*rounds/4 {
				t.Errorf("%d MiB and %d accepted rounds, want at least %d and %d: the load is too small for the test",
					additional>>20, accepted, limit/4>>20, clients*rounds/4)
			}
		})
	}
}

// resident returns a memory field of /proc/PID/status, in bytes.
func resident(t testing.TB, pid int, name string) int64 {
	t.Helper()
	text := must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))(t)
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return must.Get(strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64))(t) << 10
		}
	}
	t.Fatalf("%s is missing", name)
	return 0
}

// editor is a client with at most one open document.
type editor struct {
	t        *testing.T
	conn     net.Conn
	in       *bufio.Reader
	lastID   int
	version  int
	length   int
	accepted int // rounds in which no message was refused for lack of memory
}

func newEditor(t *testing.T, socket string) *editor {
	conn := must.Get(net.Dial("unix", socket))(t)
	t.Cleanup(func() { conn.Close() })
	e := &editor{t: t, conn: conn, in: bufio.NewReader(conn)}
	e.send(`{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{}}`, e.nextID())
	e.finish()
	e.accepted = 0
	return e
}

func (e *editor) nextID() int { e.lastID++; return e.lastID }

func (e *editor) send(format string, args ...any) {
	if _, err := fmt.Fprintf(e.conn, format+"\n", args...); err != nil {
		e.t.Error(err)
	}
}

func (e *editor) open(length int) {
	e.version, e.length = 1, length
	e.send(`{"jsonrpc":"2.0","method":"sequence/didOpen","params":{"uri":"u","version":1,"text":"%s"}}`,
		strings.Repeat("7 ", length/2))
}

// change replaces n ranges throughout the document by texts of 100 characters, in one message.
func (e *editor) change(n int) {
	var changes strings.Builder
	for i := range n {
		start := i * 7919 % e.length
		fmt.Fprintf(&changes, `,{"range":{"start":%d,"end":%d},"text":"%s"}`, start, min(e.length, start+100),
			strings.Repeat("7 ", 50))
	}
	e.version++
	e.send(`{"jsonrpc":"2.0","method":"sequence/didChange","params":{"uri":"u","version":%d,"changes":[%s]}}`,
		e.version, changes.String()[1:])
	time.Sleep(30 * time.Millisecond) // after --debounce the server pushes the document's prediction
}

// finish waits until the server has responded to all messages. It counts the round as accepted if the server
// refused none for lack of memory (-32000). The model rejects texts of more than 4,096 tokens (-32602),
// but only after the server has read them.
func (e *editor) finish() {
	last := e.nextID()
	e.send(`{"jsonrpc":"2.0","id":%d,"method":"model/info"}`, last)
	refused := false
	for {
		line, err := e.in.ReadBytes('\n')
		if err != nil {
			e.t.Error(err)
			return
		}
		var m struct {
			ID    json.RawMessage
			Error *struct{ Code int }
		}
		if err := json.Unmarshal(line, &m); err != nil {
			e.t.Error(err)
		}
		refused = refused || m.Error != nil && m.Error.Code == -32000
		if string(m.ID) == strconv.Itoa(last) {
			break
		}
	}
	if !refused {
		e.accepted++
	}
}
