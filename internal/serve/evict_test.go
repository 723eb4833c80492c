package serve

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/serve/transport"
)

// expectDismissed reads to the end of a session that the server evicted or refused. The session's error
// must contain reason, and the last message must be a retryable error that contains reason.
func (c *client) expectDismissed(reason string) {
	c.t.Helper()
	rest, err := c.end()
	if err == nil || !strings.Contains(err.Error(), reason) {
		c.t.Errorf("got session error %v, want one with %q", err, reason)
	}
	if n := len(rest); n == 0 || !strings.Contains(rest[n-1], reason) || !strings.Contains(rest[n-1], "-32000") ||
		!strings.Contains(rest[n-1], "retryAfter") {
		c.t.Errorf("got messages %q, want a last one with -32000, retryAfter and %q", rest, reason)
	}
}

// expectServed checks that the session responds to a request.
func (c *client) expectServed() {
	c.t.Helper()
	c.call("serves", "model/info", nil, nil)
}

// TestEvictsSilent checks that at --max-clients a new connection replaces the oldest connection
// without a complete message. Sessions that have sent a message stay.
func TestEvictsSilent(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxClients = 3
	s := startServer(t, o)
	s.allowances = allowances{silent: 50 * time.Millisecond, unread: time.Hour, idle: time.Hour}
	speaks := dial(t, s).initialize(struct{}{})
	present := func(n int) func() bool { return func() bool { return s.stats().Sessions == n } }
	first := dial(t, s)
	eventually(t, "the first session has not started", present(2))
	time.Sleep(5 * time.Millisecond)
	second := dial(t, s)
	eventually(t, "the second session has not started", present(3))
	io.WriteString(first.conn, `{"jsonrpc":"2.0","id":1,"meth`) // an incomplete message does not count
	time.Sleep(2 * s.allowances.silent)
	dial(t, s).initialize(struct{}{})
	first.expectDismissed("--max-clients")
	dial(t, s).initialize(struct{}{})
	second.expectDismissed("--max-clients")
	time.Sleep(2 * s.allowances.silent)
	dial(t, s).expectDismissed("--max-clients") // refused: no session can be evicted
	speaks.expectServed()
}

// TestEvictsUnread checks that a session whose client does not read is evicted before an idle
// session.
func TestEvictsUnread(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxClients = 3
	s := startServer(t, o)
	idle := dial(t, s).initialize(struct{}{})
	conn, theirs := socketPair(t)
	defer conn.Close()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve("unread", theirs, theirs, false) }()
	io.WriteString(conn, `{"jsonrpc":"2.0","id":"i","method":"initialize"}`+"\n")
	go sendFlood(conn)
	eventually(t, "no session is blocked", func() bool { return s.blocked() == 1 })
	busy := dial(t, s).initialize(struct{}{})
	s.allowances = allowances{silent: time.Hour, unread: 300 * time.Millisecond, idle: time.Millisecond}
	time.Sleep(500 * time.Millisecond)
	busy.expectServed()
	newcomer := dial(t, s).initialize(struct{}{})
	select {
	case err := <-ended:
		must.Fail(t, "--max-clients")(err)
	case <-time.After(waitLimit):
		conn.Close()
		t.Fatal("the blocked session was not evicted")
	}
	idle.expectServed()
	newcomer.expectServed()
}

// blocked returns the number of sessions whose output is blocked because the client does not read.
func (s *Server) blocked() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for x := range s.sessions {
		if x.out.Blocked() {
			n++
		}
	}
	return n
}

// TestSlowReaderReads checks that a client that reads a long response slowly does not count as
// blocked.
func TestSlowReaderReads(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	x := &session{server: &Server{}, out: transport.NewOutlet(b, func(_ int, write func()) { write() })}
	x.activity.note()
	x.activity.heard.Store(true)
	go func() {
		x.out.Write(make([]byte, 8<<16))
		b.Close()
	}()
	piece := make([]byte, 1<<16)
	for n := range 8 {
		time.Sleep(60 * time.Millisecond)
		if u, _ := x.evictionRank(time.Now(), allowances{time.Hour, 120 * time.Millisecond,
			time.Hour}); u != keptClient {
			t.Fatalf("got rank %v after %d of 8 pieces, want keptClient", u, n)
		}
		must.Get(io.ReadFull(a, piece))(t)
	}
}

// withDocument returns a client with one open document whose class has been received. It has no
// pending request.
func withDocument(t testing.TB, s *Server) *client {
	t.Helper()
	c := dial(t, s).initialize(struct{}{})
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": "1"})
	c.message()
	eventually(t, "the batch has not ended", func() bool {
		jobs, _, running := queueState(s)
		return jobs+running == 0
	})
	return c
}

// TestEvictsIdle checks that the session that has been idle longest is evicted first. A session with an
// open document or a pending request stays.
func TestEvictsIdle(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxClients, o.Debounce = 4, 0
	s := startServer(t, o)
	s.allowances = allowances{silent: time.Hour, unread: time.Hour, idle: 100 * time.Millisecond}
	edits := withDocument(t, s)
	release := blockBatches(s)
	waits := dial(t, s).initialize(struct{}{})
	waits.request(1, "sequence/classify", map[string]any{"tokens": []int{1}})
	second := dial(t, s).initialize(struct{}{})
	first := dial(t, s).initialize(struct{}{})
	first.expectServed()
	time.Sleep(20 * time.Millisecond) // the server records activity after it has written the response
	second.expectServed()
	time.Sleep(2 * s.allowances.idle)
	newcomer := dial(t, s).initialize(struct{}{})
	newcomer.request(1, "sequence/classify", map[string]any{"tokens": []int{1}})
	first.expectDismissed("--max-clients")
	another := dial(t, s).initialize(struct{}{})
	another.request(1, "sequence/classify", map[string]any{"tokens": []int{1}})
	second.expectDismissed("--max-clients")
	eventually(t, "fewer than three requests are pending", func() bool { return s.inflight() == 3 })
	time.Sleep(2 * s.allowances.idle)
	dial(t, s).expectDismissed("--max-clients") // refused: no session can be evicted
	close(release)
	if m := waits.response(1); m.Error != nil {
		t.Error(m.Error)
	}
	edits.expectServed()
}

// TestIdleTimeout checks that --idle-timeout ends exactly the sessions that have neither pending
// requests nor open documents.
func TestIdleTimeout(t *testing.T) {
	o := testOptions(t, "pre")
	o.IdleTimeout, o.Debounce = 200*time.Millisecond, 0
	s := startServer(t, o)
	edits := withDocument(t, s)
	release := blockBatches(s)
	began := time.Now()
	mute, idle, waits := dial(t, s), dial(t, s).initialize(struct{}{}), dial(t, s).initialize(struct{}{})
	waits.request(1, "sequence/classify", map[string]any{"tokens": []int{1}})
	half := `{"jsonrpc":"2.0","id":1,"meth`
	io.WriteString(mute.conn, half)
	mute.expectDismissed("--idle-timeout")
	idle.expectDismissed("--idle-timeout")
	if took := time.Since(began); took < o.IdleTimeout {
		t.Errorf("sessions ended after %v, want at least --idle-timeout", took)
	}
	time.Sleep(2 * o.IdleTimeout)
	close(release)
	if m := waits.response(1); m.Error != nil {
		t.Error(m.Error)
	}
	edits.expectServed()
	waits.expectDismissed("--idle-timeout")
	edits.notify("sequence/didClose", map[string]any{"uri": "u"})
	edits.expectDismissed("--idle-timeout")
}

// TestFairMemory checks the memory quota of sessions. A single session may use at least 3/4 of the
// memory. Beside another session it gets 1/4 to 1/2, and the other session is served and gets at least 1/8.
func TestFairMemory(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxMemory, o.Debounce = 8<<20, time.Hour
	s := startServer(t, o)
	greedy := dial(t, s).initialize(struct{}{})
	open := func(c *client, from, to int) {
		for n := from; n < to; n++ {
			c.notify("sequence/didOpen", map[string]any{"uri": fmt.Sprint(n), "version": 1,
				"text": strings.Repeat("1 ", 1<<18)})
		}
		c.expectServed()
	}
	open(greedy, 0, 12)
	if used := s.memory.used.Load(); used < o.MaxMemory*3/4 {
		t.Errorf("a single session has %d bytes of %d, want at least 3/4", used, o.MaxMemory)
	}
	for n := range 12 {
		greedy.notify("sequence/didClose", map[string]any{"uri": fmt.Sprint(n)})
	}
	other := dial(t, s).initialize(struct{}{})
	open(greedy, 0, 12)
	taken := s.memory.used.Load()
	if taken > o.MaxMemory/2 || taken < o.MaxMemory/4 {
		t.Errorf("beside another session, the first has %d bytes of %d, want 1/4 to 1/2", taken, o.MaxMemory)
	}
	other.call(1, "sequence/classify", map[string]any{"text": strings.Repeat("1 ", 2000)}, nil)
	open(other, 0, 12)
	if used := s.memory.used.Load(); used < taken+o.MaxMemory/8 {
		t.Errorf("the other session has %d bytes, want at least 1/8 of the memory", used-taken)
	}
	greedy.expectError(2, "sequence/classify", map[string]any{"text": strings.Repeat("1", 1<<18)}, -32000,
		"--max-memory")
}
