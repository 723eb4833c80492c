package serve

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
)

// withMethod adds a JSON-RPC method to all servers until the test ends.
func withMethod(t *testing.T, name string, run func(*call) (any, error)) {
	t.Helper()
	methods[name] = method{run, needsNothing}
	t.Cleanup(func() { delete(methods, name) })
}

// TestAsManyAsAllowed checks that a client with at most --max-inflight pending requests is never
// refused.
func TestAsManyAsAllowed(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxInflight = 1
	c := dial(t, startServer(t, o)).initialize(struct{}{})
	for n := range 5000 {
		c.call(n, "model/info", nil, nil)
	}
}

// TestSessionWaitsForCalls checks that a session whose client disconnects waits for its running
// calls, including calls that ignore their context.
func TestSessionWaitsForCalls(t *testing.T) {
	begun, release := make(chan *session, 1), make(chan struct{})
	withMethod(t, "test/wait", func(c *call) (any, error) {
		begun <- c.session
		<-release
		return nil, nil
	})
	s := startServer(t, testOptions(t, "pre"))
	c := dial(t, s).initialize(struct{}{})
	c.request(1, "test/wait", nil)
	x := <-begun
	c.conn.Close()
	time.AfterFunc(s.grace/10, func() { close(release) })
	<-c.ended
	x.mu.Lock()
	defer x.mu.Unlock()
	if used := s.memory.used.Load(); len(x.calls) != 0 || used != 0 {
		t.Errorf("got %d calls and %d counted bytes, want 0 and 0", len(x.calls), used)
	}
}

// TestErrorsCounted checks that server/stats counts failed calls by error code.
func TestErrorsCounted(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	release := blockBatches(s)
	defer close(release)
	c := dial(t, s).initialize(struct{}{})
	c.expectError(1, "sequence/classify", map[string]any{"tokens": "1"}, -32602, "tokens")
	c.request(2, "sequence/classify", map[string]any{"tokens": []int{1}})
	c.notify("$/cancelRequest", map[string]any{"id": 2})
	c.response(2)
	var x stats
	c.call(3, "server/stats", nil, &x)
	if len(x.Errors) != 2 || x.Errors["-32602"] != 1 || x.Errors["-32800"] != 1 {
		t.Errorf("got errors %v, want one each of -32602 and -32800", x.Errors)
	}
}

// TestSessionGoesOnBesideRelease checks that a session serves other calls while a call releases the
// old model's device, which can take a long time.
func TestSessionGoesOnBesideRelease(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	withMethod(t, "test/wait", func(*call) (any, error) {
		close(begun)
		<-release
		return nil, nil
	})
	o := testOptions(t, "pre")
	closing, closed := make(chan struct{}), make(chan struct{})
	o.Load = func() (*Model, error) {
		m, err := load(t, "pre")()
		free := m.Release
		m.Release = sync.OnceFunc(func() { close(closing); <-closed; free() })
		return m, err
	}
	s := startServer(t, o)
	s.options.Load = load(t, "pre")
	c := dial(t, s).initialize(struct{}{})
	defer close(closed)
	c.request(1, "test/wait", nil)
	<-begun
	must.Succeed(t, s.Reload())
	close(release)
	<-closing
	c.call(2, "model/info", nil, nil)
}

// TestCancelledCallTakesNoTurn checks that a cancelled call does not run, even if a turn is free.
func TestCancelledCallTakesNoTurn(t *testing.T) {
	s := startServer(t, testOptions(t, "pre"))
	ctx, cancel := context.WithCancelCause(t.Context())
	c := &call{session: &session{server: s, share: s.turns.Share(), log: s.log}, ctx: ctx}
	cancel(errCancelled)
	if err := c.do(0, func() { t.Error("the cancelled call ran") }); !errors.Is(err, errCancelled) {
		t.Errorf("got error %v, want %v", err, errCancelled)
	}
}
