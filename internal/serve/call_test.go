package serve

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
)

// withMethod has servers answer one more method until the test ends.
func withMethod(t *testing.T, name string, run func(*call) (any, error)) {
	t.Helper()
	methods[name] = method{run, needsNothing}
	t.Cleanup(func() { delete(methods, name) })
}

// TestAsManyAsAllowed: a client that keeps as many requests as --max-inflight allows is
// never refused.
func TestAsManyAsAllowed(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxInflight = 1
	c := dial(t, start(t, o)).initialize(struct{}{})
	for n := range 5000 {
		c.call(n, "model/info", nil, nil)
	}
}

// TestSessionWaitsForCalls: a session whose client leaves does not end before its calls, also
// those that do not look at their context.
func TestSessionWaitsForCalls(t *testing.T) {
	begun, release := make(chan *session, 1), make(chan struct{})
	withMethod(t, "test/wait", func(c *call) (any, error) {
		begun <- c.session
		<-release
		return nil, nil
	})
	s := start(t, testOptions(t, "pre"))
	c := dial(t, s).initialize(struct{}{})
	c.request(1, "test/wait", nil)
	x := <-begun
	c.conn.Close()
	time.AfterFunc(s.grace/10, func() { close(release) })
	<-c.ended
	x.mu.Lock()
	defer x.mu.Unlock()
	if used := s.memory.used.Load(); len(x.calls) != 0 || used != 0 {
		t.Errorf("%d calls and %d bytes are left", len(x.calls), used)
	}
}

// TestErrorsCounted: a call that ends in an error counts under its code.
func TestErrorsCounted(t *testing.T) {
	s := start(t, testOptions(t, "pre"))
	release := hold(s)
	defer close(release)
	c := dial(t, s).initialize(struct{}{})
	c.refuse(1, "sequence/classify", map[string]any{"tokens": "1"}, -32602, "tokens")
	c.request(2, "sequence/classify", map[string]any{"tokens": []int{1}})
	c.notify("$/cancelRequest", map[string]any{"id": 2})
	c.answer(2)
	var x stats
	c.call(3, "server/stats", nil, &x)
	if len(x.Errors) != 2 || x.Errors["-32602"] != 1 || x.Errors["-32800"] != 1 {
		t.Errorf("%v", x.Errors)
	}
}

// TestSessionGoesOnBesideRelease: while the call that used a model last closes its device,
// which takes a while, the session's other calls are answered.
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
	s := start(t, o)
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

// TestCancelledCallTakesNoTurn: a cancelled call computes nothing more, though a turn is free.
func TestCancelledCallTakesNoTurn(t *testing.T) {
	s := start(t, testOptions(t, "pre"))
	ctx, cancel := context.WithCancelCause(t.Context())
	c := &call{session: &session{server: s, share: s.turns.Share(), log: s.log}, ctx: ctx}
	cancel(errCancelled)
	if err := c.do(0, func() { t.Error("it computes") }); !errors.Is(err, errCancelled) {
		t.Error(err)
	}
}
