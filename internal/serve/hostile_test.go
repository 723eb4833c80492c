package serve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// endless is a line without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '['
	}
	return len(p), nil
}

// TestHostileStreams: each gets errors or the session's end, takes no memory to
// speak of, and disturbs nobody.
func TestHostileStreams(t *testing.T) {
	huge := int64(1 << 30)
	if testing.Short() {
		huge = 1 << 26
	}
	for _, c := range []struct {
		name, framing string
		in            io.Reader
		want          string // within the answers
	}{
		{"a line of 1 GiB", Lines, io.MultiReader(io.LimitReader(endless{}, huge), strings.NewReader("\n{\"tokens\":[1]}\n")), `"label"`},
		{"nested a million deep", Lines, io.MultiReader(io.LimitReader(endless{}, 1e6), strings.NewReader("\n{\"tokens\":[1]}\n")), "-32600"},
		{"an object nested deep", Lines, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + strings.Repeat(`{"a":`, 1e6) + "\n"), "-32700"},
		{"huge numbers", Lines, strings.NewReader(`{"jsonrpc":"2.0","id":` + strings.Repeat("9", 1e6) + `,"method":"initialize"}` + "\n"), "-32600"},
		{"a huge exponent", Lines, strings.NewReader(`{"tokens":[1e999999999]}` + "\n"), "-32602"},
		{"broken UTF-8", Lines, strings.NewReader("{\"text\":\"\xff\"}\n"), "-32700"},
		{"an end in mid-line", Lines, strings.NewReader(`{"jsonrpc":"2.0","id":1,"meth`), "-32700"},
		{"a header that lies", LSP, strings.NewReader("Content-Length: 1000000000\r\n\r\n{}"), ""},
		{"a header without a number", LSP, strings.NewReader("Content-Length: -1\r\n\r\n{}"), "-32700"},
		{"two lengths", LSP, strings.NewReader("Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"), "-32700"},
		{"a body of 1 GiB", LSP, io.MultiReader(strings.NewReader(fmt.Sprintf("Content-Length: %d\r\n\r\n", huge)), io.LimitReader(endless{}, huge), strings.NewReader("Content-Length: 14\r\n\r\n{\"tokens\":[1]}")), `"label"`},
		{"a header without an end", LSP, io.LimitReader(endless{}, 1e8), "-32700"},
		{"headers without an end", LSP, strings.NewReader(strings.Repeat("a: b\r\n", 1e5)), "-32700"},
		{"no header", LSP, strings.NewReader("{\"tokens\":[1]}\n"), "-32700"},
		{"an empty body", LSP, strings.NewReader("Content-Length: 0\r\n\r\n"), "-32700"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := testOptions(t, "pre")
			o.Framing = c.framing
			s := start(t, o)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var out bytes.Buffer
			s.Serve("standard input", c.in, &out, false)
			runtime.ReadMemStats(&after)
			if !strings.Contains(out.String(), c.want) {
				t.Errorf("%.300s; want %s", out.String(), c.want)
			}
			if taken := after.TotalAlloc - before.TotalAlloc; taken > 200<<20 {
				t.Errorf("%d MiB of memory were taken", taken>>20)
			}
		})
	}
}

// FuzzStream sends any bytes in either framing, before initialize and after: the
// session ends, every request has one answer, nothing panics or is left.
func FuzzStream(f *testing.F) {
	for _, text := range []string{
		"{\"tokens\":[1]}\n", "[]\n[[[[\n", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sequence/classify\",\"params\":{\"tokens\":[1]}}\n",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":1}\n", "Content-Length: 2\r\n\r\n{}", "{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}\n", "\xff\xfe\n\x00\n",
		"{\"jsonrpc\":\"2.0\",\"method\":\"sequence/didOpen\",\"params\":{\"uri\":\"a\",\"version\":1,\"text\":\"é\"}}\n{\"jsonrpc\":\"2.0\",\"method\":\"sequence/didChange\",\"params\":{\"uri\":\"a\",\"version\":2,\"changes\":[{\"range\":{\"start\":0,\"end\":1},\"text\":\"b\"},{\"text\":\"\"}]}}\n",
		"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"sequence/classify\",\"params\":{\"sequences\":[{\"tokens\":[1]},{\"bytes\":\"MQ==\",\"window\":{\"policy\":\"sliding\",\"length\":1}}],\"partialResultToken\":1}}\n{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":2}}\n",
	} {
		f.Add([]byte(text), false, true)
		f.Add([]byte(text), true, false)
	}
	o := testOptions(f, "pre")
	o.MaxLine, o.Debounce = 1<<16, time.Millisecond
	s := start(f, o)
	f.Fuzz(func(t *testing.T, text []byte, lsp, begun bool) {
		framing := Lines
		if lsp {
			framing = LSP
		}
		if begun {
			var head bytes.Buffer
			newFrames(framing, nil, &head, 0).write([]byte(`{"jsonrpc":"2.0","id":"initialize","method":"initialize"}`))
			text = append(head.Bytes(), text...)
		}
		server := &Server{options: s.options, log: s.log, memory: memory{limit: 1 << 30}, metrics: s.metrics, batcher: s.batcher, model: s.model, sessions: map[*session]struct{}{}}
		server.options.Framing = framing
		var out bytes.Buffer
		server.Serve("f", bytes.NewReader(text), &out, false)
		answers := newFrames(framing, &out, nil, 1<<30)
		for {
			m, err := answers.read()
			if err == io.EOF {
				break
			}
			if err != nil || m.err != nil {
				t.Fatalf("%v, %v", err, m.err)
			}
			var a anyMessage
			decode(t, m.body, &a)
		}
		if used := server.memory.used.Load(); used != 0 {
			t.Fatalf("%d bytes are still counted", used)
		}
	})
}

// TestSlowReader: a client that never reads stops itself alone, and ends when the
// server does.
func TestSlowReader(t *testing.T) {
	o := testOptions(t, "pre")
	s := start(t, o)
	ours, theirs := net.Pipe() // has no buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Serve("slow", &connection{Conn: theirs}, &connection{Conn: theirs}, false)
	}()
	go func() {
		for range 100 {
			if _, err := io.WriteString(ours, "{\"tokens\":[1,2,3]}\n"); err != nil {
				return
			}
		}
	}()
	c := dial(t, s).initialize(struct{}{})
	for i := range 50 {
		c.call(i, "sequence/classify", map[string]any{"tokens": []int{1, 2}}, nil)
	}
	ours.Close() // and is gone
	select {
	case <-done:
	case <-time.After(patience):
		t.Error("its session goes on")
	}
	c.call("after", "model/info", nil, nil)
}

// TestClientsVanish: sessions whose clients disappear in mid-line, at random, leave
// nothing.
func TestClientsVanish(t *testing.T) {
	s := start(t, testOptions(t, "pre"))
	r := rand.New(rand.NewPCG(5, 6))
	whole := "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"sequence/didOpen\",\"params\":{\"uri\":\"a\",\"version\":1,\"text\":\"1 2 3\"}}\n" +
		strings.Repeat("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sequence/classify\",\"params\":{\"tokens\":[1,2,3]}}\n{\"tokens\":[1]}\n", 20)
	for range 50 {
		c := dial(t, s)
		io.WriteString(c.conn, whole[:r.IntN(len(whole))])
		c.conn.Close()
	}
	eventually(t, "sessions are left", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.sessions) == 0 })
}

// TestDrain: what was accepted is answered, then the sessions end.
func TestDrain(t *testing.T) {
	s := start(t, testOptions(t, "pre"))
	release := hold(s)
	c := dial(t, s).initialize(struct{}{})
	const n = 100
	for i := range n {
		c.request(i, "sequence/classify", map[string]any{"tokens": []int{1 + i%16}})
	}
	c.call("last", "model/info", nil, nil) // all before it are accepted
	drained := make(chan error)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		drained <- s.Drain(ctx)
	}()
	time.Sleep(20 * time.Millisecond)
	close(release)
	answers, status := c.end()
	if err := <-drained; err != nil || len(answers) != n || status != 0 {
		t.Errorf("%d answers, status %d, %v", len(answers), status, err)
	}
}

// TestDrainDeadline: what takes too long is answered by −32802.
func TestDrainDeadline(t *testing.T) {
	s, err := New(context.Background(), testOptions(t, "pre"))
	if err != nil {
		t.Fatal(err)
	}
	hold(s)
	c := dial(t, s).initialize(struct{}{})
	for i := range 5 {
		c.request(i, "sequence/classify", map[string]any{"tokens": []int{1}})
	}
	c.call("last", "model/info", nil, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := s.Drain(ctx); err == nil || !strings.Contains(err.Error(), "5 requests were cancelled") {
		t.Error(err)
	}
	answers, _ := c.end()
	for _, a := range answers {
		if !strings.Contains(a, "-32802") {
			t.Error(a)
		}
	}
	if len(answers) != 5 {
		t.Errorf("%d answers", len(answers))
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestListen serves many clients at both kinds of address.
func TestListen(t *testing.T) {
	s := start(t, testOptions(t, "pre"))
	ctx, cancel := context.WithCancel(context.Background())
	path := filepath.Join(t.TempDir(), "socket")
	for _, address := range []string{"unix:" + path, "tcp::0"} {
		l, err := Listen(address)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- s.ServeListener(ctx, l) }()
		t.Cleanup(func() {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
		if tcp, ok := l.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
			t.Errorf("%v is not of this machine alone", tcp)
		}
		for range 5 {
			conn, err := net.Dial(l.Addr().Network(), l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(conn, "{\"id\":\"x\",\"tokens\":[1]}\n")
			line := make([]byte, 5)
			if _, err := io.ReadFull(conn, line); err != nil || string(line) != `{"id"` {
				t.Errorf("%q, %v", line, err)
			}
			conn.Close()
		}
	}
	if _, err := Listen("unix:" + path); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Error(err)
	}
	cancel()
	for _, bad := range []string{"", "unix:", "tcp:", "tcp:nothing", "udp:1", "/tmp/x"} {
		if _, err := Listen(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// TestMemoryLimit: beyond it requests are refused, and documents.
func TestMemoryLimit(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxMemory, o.Debounce = 1000, time.Hour
	s := start(t, o)
	c := dial(t, s).initialize(struct{}{})
	c.notify("sequence/didOpen", map[string]any{"uri": "a", "version": 1, "text": strings.Repeat("1", 800)})
	c.refuse(1, "sequence/classify", map[string]any{"text": strings.Repeat("1", 300)}, -32000, "--max-memory")
	c.notify("sequence/didChange", map[string]any{"uri": "a", "version": 2, "changes": []any{map[string]any{"text": strings.Repeat("1", 2000)}}})
	c.refuse(2, "sequence/classify", map[string]any{"uri": "a"}, -32803, "--max-memory")
	c.notify("sequence/didClose", map[string]any{"uri": "a"})
	c.call(3, "sequence/classify", map[string]any{"text": strings.Repeat("1", 300)}, nil)
}
