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

// expectDismissed reads to the end of a session that had to make room for another.
func (c *client) expectDismissed(why string) {
	c.t.Helper()
	rest, err := c.end()
	if err == nil || !strings.Contains(err.Error(), why) {
		c.t.Errorf("it ended with %v, want %q", err, why)
	}
	if n := len(rest); n == 0 || !strings.Contains(rest[n-1], why) || !strings.Contains(rest[n-1], "-32000") ||
		!strings.Contains(rest[n-1], "retryAfter") {
		c.t.Errorf("it received %q", rest)
	}
}

// serves expects that a session answers.
func (c *client) serves() {
	c.t.Helper()
	c.call("serves", "model/info", nil, nil)
}

// TestEvictsSilent: connections that send nothing give way to new ones, the oldest first; those that send something
// stay.
func TestEvictsSilent(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxClients = 3
	s := start(t, o)
	s.allowances = allowances{silent: 50 * time.Millisecond, unread: time.Hour, idle: time.Hour}
	speaks := dial(t, s).initialize(struct{}{})
	present := func(n int) func() bool { return func() bool { return s.stats().Sessions == n } }
	first := dial(t, s)
	eventually(t, "the first is not there", present(2))
	time.Sleep(5 * time.Millisecond)
	second := dial(t, s)
	eventually(t, "the second is not there", present(3))
	io.WriteString(first.conn, `{"jsonrpc":"2.0","id":1,"meth`) // is none yet
	time.Sleep(2 * s.allowances.silent)
	dial(t, s).initialize(struct{}{})
	first.expectDismissed("--max-clients")
	dial(t, s).initialize(struct{}{})
	second.expectDismissed("--max-clients")
	time.Sleep(2 * s.allowances.silent)
	dial(t, s).expectDismissed("--max-clients") // all others are of use
	speaks.serves()
}

// TestEvictsUnread: who does not read goes before who is idle.
func TestEvictsUnread(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxClients = 3
	s := start(t, o)
	idle := dial(t, s).initialize(struct{}{})
	conn, theirs := socketPair(t)
	defer conn.Close()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve("who does not read", theirs, theirs, false) }()
	io.WriteString(conn, `{"jsonrpc":"2.0","id":"i","method":"initialize"}`+"\n")
	go floods(conn)
	eventually(t, "nothing is blocked", func() bool { return s.blocked() == 1 })
	busy := dial(t, s).initialize(struct{}{})
	s.allowances = allowances{silent: time.Hour, unread: 300 * time.Millisecond, idle: time.Millisecond}
	time.Sleep(500 * time.Millisecond)
	busy.serves()
	newcomer := dial(t, s).initialize(struct{}{})
	select {
	case err := <-ended:
		must.Fail(t, "--max-clients")(err)
	case <-time.After(patience):
		conn.Close()
		t.Fatal("it keeps its place")
	}
	idle.serves()
	newcomer.serves()
}

// blocked is how many sessions' clients do not read.
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

// TestSlowReaderReads: who takes a long answer slowly is not one that does not read.
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
		if u, _ := x.useAt(time.Now(), allowances{time.Hour, 120 * time.Millisecond, time.Hour}); u != useful {
			t.Fatalf("after %d pieces of 8", n)
		}
		must.Get(io.ReadFull(a, piece))(t)
	}
}

// withDocument is a client with one open document, whose class it has received, and no request.
func withDocument(t testing.TB, s *Server) *client {
	t.Helper()
	c := dial(t, s).initialize(struct{}{})
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": "1"})
	c.message()
	eventually(t, "it has not ended", func() bool { jobs, _, running := waiting(s); return jobs+running == 0 })
	return c
}

// TestEvictsIdle: the session that was idle longest is evicted, unless it has an open document or a pending request.
func TestEvictsIdle(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxClients, o.Debounce = 4, 0
	s := start(t, o)
	s.allowances = allowances{silent: time.Hour, unread: time.Hour, idle: 100 * time.Millisecond}
	edits := withDocument(t, s)
	release := hold(s)
	waits := dial(t, s).initialize(struct{}{})
	waits.request(1, "sequence/classify", map[string]any{"tokens": []int{1}})
	second := dial(t, s).initialize(struct{}{})
	first := dial(t, s).initialize(struct{}{})
	first.serves()
	time.Sleep(20 * time.Millisecond) // the server notes an answer after it has written it
	second.serves()
	time.Sleep(2 * s.allowances.idle)
	newcomer := dial(t, s).initialize(struct{}{})
	newcomer.request(1, "sequence/classify", map[string]any{"tokens": []int{1}})
	first.expectDismissed("--max-clients")
	another := dial(t, s).initialize(struct{}{})
	another.request(1, "sequence/classify", map[string]any{"tokens": []int{1}})
	second.expectDismissed("--max-clients")
	eventually(t, "not all wait", func() bool { return s.inflight() == 3 })
	time.Sleep(2 * s.allowances.idle)
	dial(t, s).expectDismissed("--max-clients") // is refused: all others are of use
	close(release)
	if m := waits.answer(1); m.Error != nil {
		t.Error(m.Error)
	}
	edits.serves()
}

// TestIdleTimeout: it ends sessions without requests, and no others.
func TestIdleTimeout(t *testing.T) {
	o := testOptions(t, "pre")
	o.IdleTimeout, o.Debounce = 200*time.Millisecond, 0
	s := start(t, o)
	edits := withDocument(t, s)
	release := hold(s)
	began := time.Now()
	mute, idle, waits := dial(t, s), dial(t, s).initialize(struct{}{}), dial(t, s).initialize(struct{}{})
	waits.request(1, "sequence/classify", map[string]any{"tokens": []int{1}})
	half := `{"jsonrpc":"2.0","id":1,"meth`
	io.WriteString(mute.conn, half)
	mute.expectDismissed("--idle-timeout")
	idle.expectDismissed("--idle-timeout")
	if took := time.Since(began); took < o.IdleTimeout {
		t.Errorf("it took %v", took)
	}
	time.Sleep(2 * o.IdleTimeout)
	close(release)
	if m := waits.answer(1); m.Error != nil {
		t.Error(m.Error)
	}
	edits.serves()
	waits.expectDismissed("--idle-timeout")
	edits.notify("sequence/didClose", map[string]any{"uri": "u"})
	edits.expectDismissed("--idle-timeout")
}

// TestFairMemory: whoever takes what it can leaves as much to all others, who are served;
// alone it may have all.
func TestFairMemory(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxMemory, o.Debounce = 8<<20, time.Hour
	s := start(t, o)
	greedy := dial(t, s).initialize(struct{}{})
	open := func(c *client, from, to int) {
		for n := from; n < to; n++ {
			c.notify("sequence/didOpen", map[string]any{"uri": fmt.Sprint(n), "version": 1,
				"text": strings.Repeat("1 ", 1<<18)})
		}
		c.serves()
	}
	open(greedy, 0, 12)
	if used := s.memory.used.Load(); used < o.MaxMemory*3/4 {
		t.Errorf("alone it has %d bytes of %d", used, o.MaxMemory)
	}
	for n := range 12 {
		greedy.notify("sequence/didClose", map[string]any{"uri": fmt.Sprint(n)})
	}
	other := dial(t, s).initialize(struct{}{})
	open(greedy, 0, 12)
	taken := s.memory.used.Load()
	if taken > o.MaxMemory/2 || taken < o.MaxMemory/4 {
		t.Errorf("beside another it has %d bytes of %d", taken, o.MaxMemory)
	}
	other.call(1, "sequence/classify", map[string]any{"text": strings.Repeat("1 ", 2000)}, nil)
	open(other, 0, 12)
	if used := s.memory.used.Load(); used < taken+o.MaxMemory/8 {
		t.Errorf("the other has %d bytes", used-taken)
	}
	greedy.refuse(2, "sequence/classify", map[string]any{"text": strings.Repeat("1", 1<<18)}, -32000, "--max-memory")
}
