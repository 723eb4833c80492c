package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
)

// TestReceived checks that a request's latency starts when its message is read from the connection,
// even if its processing waits.
func TestReceived(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	ours, theirs := net.Pipe() // unbuffered
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Serve("pipe", theirs, theirs, false)
	}()
	responses := bufio.NewScanner(ours)
	io.WriteString(ours, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\"}\n")
	responses.Scan()
	for i := range 3 { // the first response blocks until the client reads; the other requests wait
		fmt.Fprintf(ours, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"sequence/classify\",\"params\":{\"tokens\":[1]}}\n",
			i)
		eventually(t, "the first request is not computed", func() bool { return s.stats().Batches > 0 })
	}
	const wait = 100 * time.Millisecond
	time.Sleep(wait)
	for range 3 {
		responses.Scan()
	}
	eventually(t, "responses are missing", func() bool { return s.stats().Responses["sequence/classify"] == 3 })
	ours.Close()
	<-ended
	if n := len(s.metrics.recent); n != 3 {
		t.Errorf("got %d latencies, want 3", n)
	}
	for _, x := range s.metrics.recent {
		if x.latency < wait {
			t.Errorf("got a latency of %v, want at least 100ms", x.latency)
		}
	}
}

// TestSlowReader checks that a client that never reads does not block other sessions.
func TestSlowReader(t *testing.T) {
	o := testOptions(t, "pre")
	s := startServer(t, o)
	ours, theirs := net.Pipe() // unbuffered
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Serve("slow", theirs, theirs, false)
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
	ours.Close() // disconnects
	select {
	case <-done:
	case <-time.After(waitLimit):
		t.Error("the session of the disconnected client did not end")
	}
	c.call("after", "model/info", nil, nil)
}

// TestUnread checks that the server stops reading requests from a client that does not read
// responses. The client then never exceeds --max-inflight.
func TestUnread(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxInflight = 8
	s := startServer(t, o)
	ours, theirs := net.Pipe() // unbuffered
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Serve("pipe", theirs, theirs, false)
	}()
	responses := bufio.NewScanner(ours)
	io.WriteString(ours, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\"}\n")
	responses.Scan()
	sent := 0
	for ; sent < 20; sent++ {
		ours.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
		if _, err := fmt.Fprintf(ours, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"model/info\"}\n",
			sent); err != nil {
			break
		}
	}
	if sent == 20 {
		t.Error("the server read all 20 requests, want it to stop")
	}
	for range sent {
		if responses.Scan(); !strings.Contains(responses.Text(), `"result"`) {
			t.Errorf("got response %s, want a result", responses.Text())
		}
	}
	ours.Close()
	<-ended
}

// TestBlockedWrite checks that a session ends with an error on exit and on Drain although its client does
// not read the data of a pending write. No deadline can interrupt a write to standard output.
func TestBlockedWrite(t *testing.T) {
	for _, c := range []struct {
		name  string
		stdio bool
		end   func(t *testing.T, s *Server, ours net.Conn, release chan struct{})
	}{
		{"exit", false, exitBlocked},
		{"exit of standard input", true, exitBlocked},
		{"drain", false, drainBlocked},
		{"drain of standard input", true, drainBlocked},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := startServer(t, testOptions(t, "pre"))
			s.grace = 100 * time.Millisecond
			release := blockBatches(s)
			ours, theirs := net.Pipe() // unbuffered
			t.Cleanup(func() { ours.Close(); theirs.Close() })
			ended := make(chan error, 1)
			go func() { ended <- s.Serve("blocked", theirs, theirs, c.stdio) }()
			io.WriteString(ours, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\"}\n")
			must.Get(bufio.NewReader(ours).ReadString('\n'))(t)
			fmt.Fprintln(ours, `{"jsonrpc":"2.0","method":"sequence/didOpen","params":{"uri":"u","version":1,"text":"1"}}`)
			for i := range 3 {
				fmt.Fprintf(ours, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"sequence/classify\",\"params\":{\"tokens\":[1]}}\n",
					i)
			}
			c.end(t, s, ours, release)
			select {
			case err := <-ended:
				must.Fail(t, "", "the session ended without an error")(err)
			case <-time.After(waitLimit):
				t.Error("the session did not end")
			}
			theirs.Close() // simulates the end of the process
			eventually(t, "memory is still counted", func() bool { return s.memory.used.Load() == 0 })
		})
	}
}

func exitBlocked(t *testing.T, s *Server, ours net.Conn, _ chan struct{}) {
	io.WriteString(ours, "{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}\n")
}

// drainBlocked completes the requests and then drains the server with a deadline of 300 ms.
func drainBlocked(t *testing.T, s *Server, ours net.Conn, release chan struct{}) {
	close(release)
	time.Sleep(2 * s.options.Debounce) // the document's class is written as well
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	must.Check(t, s.Drain(ctx))
}
