package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/serve/transport"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

var update = flag.Bool("update", false, "rewrite the responses in the pages with examples")

const goldenDir = "../../sft/testdata/golden"

// load returns a function that loads a golden model onto a CPU device.
func load(t testing.TB, name string) func() (*Model, error) {
	return func() (*Model, error) {
		m := must.Get(sft.Load(filepath.Join(goldenDir, name)))(t)
		return onCPU(m, name)
	}
}

func onCPU(m *sft.Model, name string) (*Model, error) {
	d := cpu.New(2)
	s, err := sft.NewScorer(m, d)
	return &Model{Scorer: s, Task: task.Of(s.Config()), Name: name, Device: d.Name(), Hash: Hash(m),
		Release: func() { d.Close() }}, err
}

func testOptions(t testing.TB, model string) Options {
	var log io.Writer = io.Discard
	if testing.Verbose() {
		log = os.Stderr
	}
	return Options{Load: load(t, model), Framing: transport.Lines, MaxLine: 16 << 20, MaxInflight: 512,
		MaxDocuments: 16, MaxMemory: 1 << 30,
		MaxWait: time.Millisecond, Debounce: 10 * time.Millisecond, Version: "test",
		Log: slog.New(slog.NewTextHandler(log, nil))}
}

// truncatingOptions returns options for a model that truncates long sequences.
func truncatingOptions(t testing.TB, model string) Options {
	o := testOptions(t, model)
	o.Load = func() (*Model, error) {
		m, err := sft.Load(filepath.Join(goldenDir, model))
		if err != nil {
			return nil, err
		}
		m.Config.Truncate()
		return onCPU(m, model)
	}
	return o
}

// startServer starts a server. At the end of the test it drains and closes the server and checks that no
// counted memory and no goroutine is left.
func startServer(t testing.TB, o Options) *Server {
	t.Helper()
	before := goleak.IgnoreCurrent()
	s := must.Get(New(context.Background(), o))(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		must.Check(t, s.Drain(ctx))
		must.Check(t, s.Close())
		if used := s.memory.used.Load(); used != 0 {
			t.Errorf("%d bytes of memory are still counted", used)
		}
		if lent := s.readingMemory.used.Load(); lent != 0 {
			t.Errorf("%d bytes of memory are still lent", lent)
		}
		must.Check(t, goleak.Find(before))
	})
	return s
}

// client is the client's end of a session.
type client struct {
	t      testing.TB
	conn   net.Conn
	frames transport.Frames
	in     chan string // messages from the server, closed at the end
	ended  chan error  // result of Serve
}

// dial starts a session over a socket pair.
func dial(t testing.TB, s *Server) *client {
	t.Helper()
	ours, theirs := socketPair(t)
	c := &client{t: t, conn: ours, frames: transport.NewFrames(s.options.Framing, ours, ours, 64<<20, nil),
		in: make(chan string, 4096), ended: make(chan error, 1)}
	go func() {
		c.ended <- s.Serve("standard input", theirs, theirs, false)
		theirs.Close()
	}()
	go func() {
		defer close(c.in)
		for {
			m, err := c.frames.Read()
			if err != nil {
				ours.Close()
				return
			}
			c.in <- string(m.Body)
		}
	}()
	t.Cleanup(func() { ours.Close() })
	return c
}

// socketPair returns both ends of a Unix socket connection. Unlike net.Pipe it buffers data.
func socketPair(t testing.TB) (a, b net.Conn) {
	t.Helper()
	l := must.Get(net.Listen("unix", filepath.Join(t.TempDir(), "s")))(t)
	defer l.Close()
	a = must.Get(net.Dial("unix", l.Addr().String()))(t)
	b = must.Get(l.Accept())(t)
	return a, b
}

func (c *client) send(body string) {
	c.t.Helper()
	if err := c.frames.Write([]byte(body)); err != nil {
		c.t.Fatalf("sending %.200s: %v", body, err)
	}
}

// waitLimit is the time limit for an expected event. It is long because other processes may use the
// cores.
const waitLimit = time.Minute

// receive returns the next message of the server, or "" at the end.
func (c *client) receive() string {
	c.t.Helper()
	select {
	case m := <-c.in:
		return m
	case <-time.After(waitLimit):
		stacks := make([]byte, 1<<20)
		c.t.Fatalf("no message within a minute\n%s", stacks[:runtime.Stack(stacks, true)])
		return ""
	}
}

// anyMessage is a decoded response or notification of the server.
type anyMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

func (c *client) message() anyMessage {
	c.t.Helper()
	text := c.receive()
	if text == "" {
		c.t.Fatal("the session ended, want a message")
	}
	var m anyMessage
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		c.t.Fatalf("%q: %v", text, err)
	}
	return m
}

// request sends a request and does not wait for its response.
func (c *client) request(id any, method string, params any) {
	c.t.Helper()
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		c.t.Fatal(err)
	}
	c.send(string(text))
}

func (c *client) notify(method string, params any) {
	c.t.Helper()
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
	if err != nil {
		c.t.Fatal(err)
	}
	c.send(string(text))
}

// response returns the response to the request with the given id. It discards all messages before it.
func (c *client) response(id any) anyMessage {
	c.t.Helper()
	want, _ := json.Marshal(id)
	for {
		if m := c.message(); m.Method == "" && string(m.ID) == string(want) {
			return m
		}
	}
}

// call sends a request, expects a result, and decodes it.
func (c *client) call(id any, method string, params, result any) {
	c.t.Helper()
	c.request(id, method, params)
	m := c.response(id)
	if m.Error != nil {
		c.t.Fatalf("%s: got error %+v", method, *m.Error)
	}
	if result != nil {
		if err := json.Unmarshal(m.Result, result); err != nil {
			c.t.Fatalf("%s: decoding %s: %v", method, m.Result, err)
		}
	}
}

// expectError sends a request, and expects an error with the code and with a message that contains the
// given text.
func (c *client) expectError(id any, method string, params any, code int, message string) {
	c.t.Helper()
	c.request(id, method, params)
	m := c.response(id)
	if m.Error == nil || m.Error.Code != code || !strings.Contains(m.Error.Message, message) {
		c.t.Errorf("%s: got %s, error %+v; want %d, %q", method, m.Result, m.Error, code, message)
	}
}

// initialize initializes the session and returns the client.
func (c *client) initialize(params any) *client {
	c.t.Helper()
	c.call("initialize", "initialize", params, nil)
	c.notify("initialized", struct{}{})
	return c
}

// end returns the remaining messages of the session and its error.
func (c *client) end() (rest []string, err error) {
	c.t.Helper()
	for {
		m := c.receive()
		if m == "" {
			return rest, <-c.ended
		}
		rest = append(rest, m)
	}
}

// closeWrite closes the sending half of the connection.
func (c *client) closeWrite() {
	if err := c.conn.(*net.UnixConn).CloseWrite(); err != nil {
		c.t.Fatal(err)
	}
}

type anyClassification struct {
	Label   any         `json:"label"`
	Logits  []float32   `json:"logits"`
	Length  int         `json:"length"`
	Version *int64      `json:"version"`
	Window  *windowRead `json:"window"`
	Windows []struct {
		Start, End int
		Logits     []float32
	} `json:"windows"`
}

// logits returns the scorer's logits of the tokens. The server's response must equal them bit for
// bit.
func logits(t testing.TB, s *Server, tokens []int32) []float32 {
	t.Helper()
	out := must.Get(s.model.Scorer.Classify(context.Background(), tokens))(t)
	return out.Logits
}

// TestBareLines checks that pipelined bare lines get responses in order, including errors for invalid
// lines.
func TestBareLines(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	c := dial(t, s)
	const n = 500
	go func() {
		w := bufio.NewWriter(c.conn)
		for i := range n {
			switch i % 50 {
			case 7:
				fmt.Fprintln(w, "{")
			case 9:
				fmt.Fprintln(w, `{"id":"x","tokens":[99]}`)
			default:
				fmt.Fprintf(w, "{\"tokens\":[%d%s]}\n", 1+i%16, strings.Repeat(",2", i%97))
			}
		}
		w.Flush()
		c.closeWrite()
	}()
	responses, err := c.end()
	if len(responses) != n || err != nil {
		t.Fatalf("got %d responses, error %v, want %d and no error", len(responses), err, n)
	}
	for i, r := range responses {
		var m anyMessage
		var x anyClassification
		json.Unmarshal([]byte(r), &m)
		json.Unmarshal([]byte(r), &x)
		id, code := fmt.Sprint(i+1), 0
		switch i % 50 {
		case 7:
			code = -32700
		case 9:
			id, code = `"x"`, -32602
		}
		if string(m.ID) != id || (m.Error != nil) != (code != 0) || code != 0 && m.Error.Code != code ||
			code == 0 && x.Length != 1+i%97 {
			t.Fatalf("line %d: got %s, want id %s and error code %d, or for code 0 the length %d", i+1, r, id, code,
				1+i%97)
		}
	}
}

// published is a decoded publication of a document's result.
type published struct {
	URI     string
	Version int64
	Label   any
	Scores  []float32
	Logits  []float32
	Spans   []config.Span
	Unit    string
	Length  int
	Used    *int
	Window  *windowRead
	Windows []any
	Error   *Error
}

const publishClass = "sequence/publishClassification"
