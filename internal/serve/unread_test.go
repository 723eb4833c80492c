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

// TestReceived: a request's latency begins when it is read, not when there is time
// to look at it.
func TestReceived(t *testing.T) {
	s := start(t, testOptions(t, "pre"))
	ours, theirs := net.Pipe() // has no buffer
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Serve("pipe", theirs, theirs, false)
	}()
	answers := bufio.NewScanner(ours)
	io.WriteString(ours, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\"}\n")
	answers.Scan()
	for i := range 3 { // the first waits for its reader, the others behind it
		fmt.Fprintf(ours, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"sequence/classify\",\"params\":{\"tokens\":[1]}}\n", i)
		eventually(t, "the first is not answered", func() bool { return s.stats().Batches > 0 })
	}
	const wait = 100 * time.Millisecond
	time.Sleep(wait)
	for range 3 {
		answers.Scan()
	}
	eventually(t, "answers are missing", func() bool { return s.stats().Answers["sequence/classify"] == 3 })
	ours.Close()
	<-ended
	for _, x := range s.metrics.recent {
		if x.latency < wait {
			t.Errorf("a latency of %v", x.latency)
		}
	}
}

// TestSlowReader: a client that never reads stops itself alone.
func TestSlowReader(t *testing.T) {
	o := testOptions(t, "pre")
	s := start(t, o)
	ours, theirs := net.Pipe() // has no buffer
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
	ours.Close() // and is gone
	select {
	case <-done:
	case <-time.After(patience):
		t.Error("its session goes on")
	}
	c.call("after", "model/info", nil, nil)
}

// TestUnread: of a client that does not read no more is read, so that none of its
// requests is refused for being one too many.
func TestUnread(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxInflight = 8
	s := start(t, o)
	ours, theirs := net.Pipe() // has no buffer
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Serve("pipe", theirs, theirs, false)
	}()
	answers := bufio.NewScanner(ours)
	io.WriteString(ours, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\"}\n")
	answers.Scan()
	sent := 0
	for ; sent < 20; sent++ {
		ours.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
		if _, err := fmt.Fprintf(ours, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"model/info\"}\n",
			sent); err != nil {
			break
		}
	}
	if sent == 20 {
		t.Error("it reads on")
	}
	for range sent {
		if answers.Scan(); !strings.Contains(answers.Text(), `"result"`) {
			t.Errorf("an answer: %s", answers.Text())
		}
	}
	ours.Close()
	<-ended
}

// TestBlockedWrite: a session that must end does, though its client does not read
// what is being written: after exit, when the server stops, and over standard
// input, too, where nothing frees the write.
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
			s := start(t, testOptions(t, "pre"))
			s.grace = 100 * time.Millisecond
			release := hold(s)
			ours, theirs := net.Pipe() // has no buffer
			t.Cleanup(func() { ours.Close(); theirs.Close() })
			ended := make(chan error, 1)
			go func() { ended <- s.Serve("blocked", theirs, theirs, c.stdio) }()
			io.WriteString(ours, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\"}\n")
			must.Get(bufio.NewReader(ours).ReadString('\n'))(t)
			fmt.Fprintln(ours, `{"jsonrpc":"2.0","method":"sequence/didOpen","params":{"uri":"u","version":1,"text":"1"}}`)
			for i := range 3 {
				fmt.Fprintf(ours, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"sequence/classify\",\"params\":{\"tokens\":[1]}}\n", i)
			}
			c.end(t, s, ours, release)
			select {
			case err := <-ended:
				must.Fail(t, "", "it ended well")(err)
			case <-time.After(patience):
				t.Error("the session goes on")
			}
			theirs.Close() // as the process's end does
			eventually(t, "it counts memory", func() bool { return s.memory.used.Load() == 0 })
		})
	}
}

func exitBlocked(t *testing.T, s *Server, ours net.Conn, _ chan struct{}) {
	io.WriteString(ours, "{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}\n")
}

// drainBlocked: its requests did not take too long.
func drainBlocked(t *testing.T, s *Server, ours net.Conn, release chan struct{}) {
	close(release)
	time.Sleep(2 * s.options.Debounce) // its document has a class, too
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	must.Check(t, s.Drain(ctx))
}
