package serve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/serve/transport"
	"github.com/sftseq/sftseq/internal/testenv"
)

// endless is an infinite stream of "[".
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '['
	}
	return len(p), nil
}

// TestHostileStreams sends malformed and huge streams. Each must get the expected response with bounded
// memory, while another session is served.
func TestHostileStreams(t *testing.T) {
	huge := int64(1 << 30)
	if testing.Short() {
		huge = 1 << 26
	}
	for _, c := range []struct {
		name, framing string
		in            io.Reader
		want          string // expected part of the responses
	}{
		{"a line of 1 GiB", transport.Lines, io.MultiReader(io.LimitReader(endless{}, huge),
			strings.NewReader("\n{\"tokens\":[1]}\n")), `"label"`},
		{"nested a million deep", transport.Lines, io.MultiReader(io.LimitReader(endless{}, 1e6),
			strings.NewReader("\n{\"tokens\":[1]}\n")), "-32600"},
		{"an object nested deep", transport.Lines,
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + strings.Repeat(`{"a":`,
				1e6) + "\n"), "-32700"},
		{"huge numbers", transport.Lines,
			strings.NewReader(`{"jsonrpc":"2.0","id":` + strings.Repeat("9", 1e6) + `,"method":"initialize"}` + "\n"),
			"-32600"},
		{"a huge exponent", transport.Lines, strings.NewReader(`{"tokens":[1e999999999]}` + "\n"), "-32602"},
		{"broken UTF-8", transport.Lines, strings.NewReader("{\"text\":\"\xff\"}\n"), "-32700"},
		{"an end in mid-line", transport.Lines, strings.NewReader(`{"jsonrpc":"2.0","id":1,"meth`), "-32700"},
		{"a header that lies", transport.LSP, strings.NewReader("Content-Length: 1000000000\r\n\r\n{}"), "-32700"},
		{"a header without a number", transport.LSP, strings.NewReader("Content-Length: -1\r\n\r\n{}"), "-32700"},
		{"two lengths", transport.LSP, strings.NewReader("Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"),
			"expected one per message, found two"},
		{"40 headers", transport.LSP,
			strings.NewReader("Content-Length: 2\r\n" + strings.Repeat("X: y\r\n", 40) + "\r\n{}"),
			"expected at most 32 headers"},
		{"a length of 14 digits", transport.LSP, strings.NewReader("Content-Length: 99999999999999\r\n\r\n{}"),
			"bytes (--max-line), found 99999999999999"},
		{"a body of 1 GiB", transport.LSP,
			io.MultiReader(strings.NewReader(fmt.Sprintf("Content-Length: %d\r\n\r\n", huge)),
				io.LimitReader(endless{}, huge), strings.NewReader("Content-Length: 14\r\n\r\n{\"tokens\":[1]}")),
			`"label"`},
		{"a header without an end", transport.LSP, io.LimitReader(endless{}, 1e8), "-32700"},
		{"headers without an end", transport.LSP, strings.NewReader(strings.Repeat("a: b\r\n", 1e5)), "-32700"},
		{"lines where headers are expected", transport.LSP, strings.NewReader("{\"tokens\":[1]}\n"), "--framing lines"},
		{"headers where lines are expected", transport.Lines,
			strings.NewReader("content-length: 14\r\n\r\n{\"tokens\":[1]}"), "--framing lsp"},
		{"another header", transport.LSP, strings.NewReader("Content-Lenght: 2\r\n\r\n{}"),
			"found [\\\"Content-Lenght\\\"]"},
		{"a signed length", transport.LSP, strings.NewReader("Content-Length: +2\r\n\r\n{}"), "a decimal number"},
		{"another charset", transport.LSP,
			strings.NewReader("Content-Type: application/vscode-jsonrpc; charset=utf-16\r\nContent-Length: 2\r\n\r\n{}"), "expected the charset utf-8"},
		{"the old name of UTF-8", transport.LSP,
			strings.NewReader("Content-Type: application/vscode-jsonrpc; charset=utf8\r\nContent-Length: 14\r\n\r\n{\"tokens\":[1]}"), `"label"`},
		{"an empty body", transport.LSP, strings.NewReader("Content-Length: 0\r\n\r\n"), "-32700"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := testOptions(t, "pre")
			o.Framing = c.framing
			s := startServer(t, o)
			other := dial(t, s).initialize(struct{}{})
			ended, served := make(chan struct{}), make(chan int)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			go func() { // serves the other session concurrently
				for n := 0; ; n++ {
					other.call(n, "sequence/classify", map[string]any{"tokens": []int{1, 2}}, nil)
					select {
					case <-ended:
						served <- n
						return
					case <-time.After(10 * time.Millisecond):
					}
				}
			}()
			var out bytes.Buffer
			began := time.Now()
			s.Serve("standard input", c.in, &out, false)
			elapsed := time.Since(began)
			close(ended)
			if n := <-served; time.Duration(n) < elapsed/(200*time.Millisecond) {
				t.Errorf("the other session got only %d responses in %v", n, elapsed)
			}
			runtime.ReadMemStats(&after)
			if !strings.Contains(out.String(), c.want) {
				t.Errorf("got %.300s, want %s", out.String(), c.want)
			}
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 200<<20 {
				t.Errorf("allocated %d MiB, want at most 200", allocated>>20)
			}
		})
	}
}

// TestHTTP checks that an HTTP request on a JSON-RPC stream gets an error, and that its body is not read
// as messages.
func TestHTTP(t *testing.T) {
	for _, c := range []struct {
		framing, path string
		maxLine       int
		want          string
	}{
		{transport.Lines, "/", 1 << 20, "found an HTTP request"},
		{transport.LSP, "/a:b", 1 << 20, "found an HTTP request"},
		{transport.Lines, "/" + strings.Repeat("a", 2000), 1 << 10, "found an HTTP request"}, // longer than --max-line
		{transport.Lines, "/" + strings.Repeat("a", 600), 10, "found an HTTP request"},
		{transport.Lines, "/" + strings.Repeat("a", 2*4096), 1 << 20, "found an HTTP request"}, // exceeds the buffer
		{transport.LSP, "/" + strings.Repeat("a", 2*4096), 1 << 20, "the line has more than"},
	} {
		o := testOptions(t, "pre")
		o.Framing, o.MaxLine = c.framing, c.maxLine
		text := "POST " + c.path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 15\r\n\r\n{\"tokens\":[1]}\n"
		var out bytes.Buffer
		err := startServer(t, o).Serve("browser", strings.NewReader(text), &out, false)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(out.String(), c.want) ||
			strings.Contains(out.String(), "label") || strings.Count(out.String(), "\n") > 3 {
			t.Errorf("%s, %.20s, --max-line %d: got error %v, output %s, want %q in both", c.framing, c.path, c.maxLine,
				err, out.String(), c.want)
		}
	}
}

// TestOtherFraming checks that the error for LSP framing on a line stream names --framing lsp, even
// with a small --max-line.
func TestOtherFraming(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxLine = 10
	var out bytes.Buffer
	startServer(t, o).Serve("editor", strings.NewReader("Content-Length: 14\r\n\r\n{\"tokens\":[1]}"), &out, false)
	if !strings.Contains(out.String(), "--framing lsp") {
		t.Errorf("got %s, want an error that names --framing lsp", out.String())
	}
}

// FuzzStream sends arbitrary bytes in both framings, before and after initialize. Every request before
// an exit must get at most one response, and exactly one if the stream has no exit. The session must end
// without a panic, and no memory may stay counted.
func FuzzStream(f *testing.F) {
	for _, text := range []string{
		"{\"tokens\":[1]}\n", "[]\n[[[[\n",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sequence/classify\",\"params\":{\"tokens\":[1]}}\n",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":1}\n", "Content-Length: 2\r\n\r\n{}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}\n", "\xff\xfe\n\x00\n",
		"{\"jsonrpc\":\"2.0\",\"method\":\"sequence/didOpen\",\"params\":{\"uri\":\"a\",\"version\":1,\"text\":\"é\"}}\n{\"jsonrpc\":\"2.0\",\"method\":\"sequence/didChange\",\"params\":{\"uri\":\"a\",\"version\":2,\"changes\":[{\"range\":{\"start\":0,\"end\":1},\"text\":\"b\"},{\"text\":\"\"}]}}\n",
		"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"sequence/classify\",\"params\":{\"sequences\":[{\"tokens\":[1]},{\"bytes\":\"MQ==\",\"window\":{\"policy\":\"sliding\",\"length\":1}}],\"partialResultToken\":1}}\n{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":2}}\n",
	} {
		f.Add([]byte(text), false, true)
		f.Add([]byte(text), true, false)
	}
	o := testOptions(f, "pre")
	o.MaxLine, o.Debounce = 1<<16, time.Millisecond
	s := startServer(f, o)
	f.Fuzz(func(t *testing.T, text []byte, lsp, begun bool) {
		defer testenv.FuzzLimits(t, 64<<20+1000*len(text))()
		framing := transport.Lines
		if lsp {
			framing = transport.LSP
		}
		if begun {
			var head bytes.Buffer
			transport.NewFrames(framing, nil, &head, 0,
				nil).Write([]byte(`{"jsonrpc":"2.0","id":"initialize","method":"initialize"}`))
			text = append(head.Bytes(), text...)
		}
		server := &Server{options: s.options, log: s.log, memory: memory{limit: 1 << 30},
			readingMemory: memory{limit: 1 << 29}, metrics: s.metrics, batcher: s.batcher, turns: s.turns, model: s.model,
			sessions: map[*session]struct{}{}, grace: time.Minute}
		server.options.Framing = framing
		var out bytes.Buffer
		server.Serve("f", bytes.NewReader(text), &out, false)
		requests, total, exit := expectedResponses(framing, text, o.MaxLine)
		responses := transport.NewFrames(framing, &out, nil, 1<<30, nil)
		for {
			m, err := responses.Read()
			if err == io.EOF {
				break
			}
			if err != nil || m.Err != nil {
				t.Fatalf("reading responses: %v, %v", err, m.Err)
			}
			var a anyMessage
			decode(t, m.Body, &a)
			if a.Method != "" {
				continue
			}
			total--
			if id := string(a.ID); bytes.Contains(m.Body, []byte(`"jsonrpc"`)) && id != "null" {
				if requests[id]--; requests[id] < 0 {
					t.Fatalf("id %s: unexpected or duplicate response %s", id, m.Body)
				}
			}
		}
		if total < 0 || total > 0 && !exit {
			t.Errorf("%d responses are missing (a negative number counts unexpected responses)", total)
		}
		if used, lent := server.memory.used.Load(), server.readingMemory.used.Load(); used != 0 || lent != 0 {
			t.Fatalf("%d bytes are still counted and %d lent, want 0 and 0", used, lent)
		}
	})
}

// expectedResponses counts the responses to a stream up to its exit notification: the maximum number per
// JSON-RPC id, and the total. The result exit reports whether the stream has this notification; the session
// may then end before some responses.
func expectedResponses(framing string, text []byte, limit int) (ids map[string]int, total int, exit bool) {
	ids = map[string]int{}
	in := transport.NewFrames(framing, bytes.NewReader(text), nil, limit, nil)
	for {
		m, err := in.Read()
		if err != nil {
			if err != io.EOF { // a malformed header gets an error and ends the session
				total++
			}
			return ids, total, false
		}
		e, bad := headOf(m.Head), m.Err != nil
		if !bad {
			var parseError *Error
			e, parseError = parseEnvelope(m)
			bad = parseError != nil
		}
		switch {
		case bad || e.id != nil && !e.response:
			total++
			if e.id != nil {
				ids[string(e.id)]++
			}
		case e.method == "exit":
			return ids, total, true
		}
	}
}

// TestEndsEarly checks the error of a session whose client process is gone or whose output is
// closed.
func TestEndsEarly(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	gone := exec.Command(os.Args[0], "-test.run=^$")
	must.Succeed(t, gone.Run())
	in, typed := io.Pipe()
	defer typed.Close()
	go fmt.Fprintf(typed, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"processId\":%d}}\n",
		gone.Process.Pid)
	must.Fail(t, fmt.Sprintf("process %d has ended", gone.Process.Pid))(s.Serve("dead client process", in, io.Discard,
		true))
	_, closed := io.Pipe()
	closed.Close()
	for _, line := range []string{`{"tokens":[1]}`, `{"jsonrpc":"2.0","id":0,"method":"initialize"}`} {
		must.Fail(t, "writing: io: read/write on closed pipe",
			line)(s.Serve("closed output", strings.NewReader(line+"\n"), closed, true))
	}
}

// TestClientsVanish checks that no session is left when clients disconnect at random points of their
// streams.
func TestClientsVanish(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	r := rand.New(rand.NewPCG(5, 6))
	text := "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"sequence/didOpen\",\"params\":{\"uri\":\"a\",\"version\":1,\"text\":\"1 2 3\"}}\n" +
		strings.Repeat("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sequence/classify\",\"params\":{\"tokens\":[1,2,3]}}\n{\"tokens\":[1]}\n", 20)
	for range 50 {
		c := dial(t, s)
		io.WriteString(c.conn, text[:r.IntN(len(text))])
		c.conn.Close()
	}
	eventually(t, "sessions are left", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.sessions) == 0 })
}

// TestDrain checks that Drain completes all accepted requests and then ends the sessions.
func TestDrain(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	release := blockBatches(s)
	c := dial(t, s).initialize(struct{}{})
	const n = 100
	for i := range n {
		c.request(i, "sequence/classify", map[string]any{"tokens": []int{1 + i%16}})
	}
	c.call("last", "model/info", nil, nil) // its response proves that all earlier requests were accepted
	drained := make(chan error)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
		defer cancel()
		drained <- s.Drain(ctx)
	}()
	time.Sleep(20 * time.Millisecond)
	close(release)
	responses, ended := c.end()
	if err := <-drained; err != nil || len(responses) != n || ended != nil {
		t.Errorf("got %d responses, session error %v, drain error %v, want %d responses and no errors",
			len(responses), ended, err, n)
	}
}

// TestDrainDeadlineOfOneRequest checks that Drain's error has the singular for one request.
func TestDrainDeadlineOfOneRequest(t *testing.T) {
	s := must.Get(New(context.Background(), testOptions(t, "pre")))(t)
	blockBatches(s)
	c := dial(t, s).initialize(struct{}{})
	c.request(1, "sequence/classify", map[string]any{"tokens": []int{1}})
	c.call("last", "model/info", nil, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	must.Fail(t, "1 request was cancelled: it did not finish")(s.Drain(ctx))
}

// TestDrainDeadline checks that requests still pending at Drain's deadline fail with −32802.
func TestDrainDeadline(t *testing.T) {
	s := must.Get(New(context.Background(), testOptions(t, "pre")))(t)
	blockBatches(s)
	c := dial(t, s).initialize(struct{}{})
	for i := range 5 {
		c.request(i, "sequence/classify", map[string]any{"tokens": []int{1}})
	}
	c.send(`{"tokens":[1]}`)
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": "1"})
	c.call("last", "model/info", nil, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	must.Fail(t, "6 requests were cancelled")(s.Drain(ctx))
	responses, _ := c.end()
	for _, a := range responses {
		if !strings.Contains(a, "-32802") {
			t.Errorf("got response %s, want error -32802", a)
		}
	}
	if len(responses) != 6 {
		t.Errorf("got %d responses, want 6", len(responses))
	}
	must.Check(t, s.Close())
}

// TestListen checks that ServeListener serves several clients on Unix and TCP listeners.
func TestListen(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	ctx, cancel := context.WithCancel(context.Background())
	path := filepath.Join(t.TempDir(), "socket")
	for _, address := range []transport.Address{{Network: "unix", Name: path}, {Network: "tcp", Name: "127.0.0.1:0"}} {
		l := must.Get(transport.Listen(address))(t)
		ended := make(chan error, 1)
		go func() { ended <- s.ServeListener(ctx, l) }()
		t.Cleanup(func() {
			must.Check(t, <-ended)
		})
		for range 5 {
			conn := must.Get(net.Dial(l.Addr().Network(), l.Addr().String()))(t)
			io.WriteString(conn, "{\"id\":\"x\",\"tokens\":[1]}\n")
			line := make([]byte, 5)
			if _, err := io.ReadFull(conn, line); err != nil || string(line) != `{"id"` {
				t.Errorf("got %q, error %v; want %q", line, err, `{"id"`)
			}
			conn.Close()
		}
	}
	must.Fail(t, "another server")(transport.Listen(transport.Address{Network: "unix", Name: path}))
	cancel()
}

// TestMemoryLimit checks that requests and documents above --max-memory are refused.
func TestMemoryLimit(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxMemory, o.Debounce = 10000, time.Hour
	s := startServer(t, o)
	c := dial(t, s).initialize(struct{}{})
	c.notify("sequence/didOpen", map[string]any{"uri": "a", "version": 1, "text": strings.Repeat("1", 8000)})
	c.expectError(1, "sequence/classify", map[string]any{"text": strings.Repeat("1", 300)}, -32000, "--max-memory")
	c.notify("sequence/didChange", map[string]any{"uri": "a", "version": 2,
		"changes": []any{map[string]any{"text": strings.Repeat("1", 20000)}}})
	c.expectError(2, "sequence/classify", map[string]any{"uri": "a"}, -32803, "--max-memory")
	c.notify("sequence/didClose", map[string]any{"uri": "a"})
	c.call(3, "sequence/classify", map[string]any{"text": strings.Repeat("1", 300)}, nil)
	// A request that can never fit gets an error without a time to retry.
	c.expectError(4, "sequence/classify", map[string]any{"text": strings.Repeat("1", 20000)}, -32602, "--max-memory")
}
