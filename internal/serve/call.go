package serve

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/creachadair/jrpc2"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// call is a request that is being answered.
type call struct {
	session  *session
	number   int64
	id       json.RawMessage
	key      string // of the id, however it is written
	method   string
	params   json.RawMessage
	model    *served
	edits    uint64 // of documents, when it came
	received time.Time
	bytes    int64

	ctx    context.Context
	cancel context.CancelCauseFunc

	code    jrpc2.Code // of the answer, 0 for a result
	compute time.Duration
}

// unanswered are the calls that wait.
func (s *session) unanswered() []*call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.calls))
}

// Assign has jrpc2 run every call by invoke.
func (s *session) Assign(context.Context, string) jrpc2.Handler { return s.invoke }

// invoke answers a call. Its context is the call's own, which exists from the
// moment that it is read; that of jrpc2 comes later, too late for a client that
// cancels at once.
func (s *session) invoke(_ context.Context, r *jrpc2.Request) (any, error) {
	number, _ := strconv.ParseInt(r.ID(), 10, 64)
	s.mu.Lock()
	c := s.calls[number]
	s.mu.Unlock()
	if c == nil {
		return nil, errStopped
	}
	result, err := c.answer()
	if err == nil {
		// jrpc2 would make an error of its own of what JSON cannot hold.
		var text []byte
		if stopped := c.do(int(c.bytes), func() { text, err = json.Marshal(result) }); stopped != nil {
			err = stopped
		} else if err == nil {
			return json.RawMessage(text), nil
		} else {
			err = fail(codeInternal, nil, "%v", err)
		}
	}
	if cause := context.Cause(c.ctx); cause != nil {
		err = cause
	}
	e := asError(err)
	c.code = e.Code
	return nil, e
}

// do runs f in a turn of the session's; bytes are what it reads.
func (c *call) do(bytes int, f func()) error { return c.session.share.do(c.ctx, bytes, f) }

func (c *call) answer() (result any, err error) {
	defer c.recovered(&err)
	m, ok := methods[c.method]
	if !ok {
		return nil, fail(codeNoMethod, place{Found: c.method}, "no method %q", c.method)
	}
	if why := m.lacking(c); why != "" {
		return nil, fail(codeNoMethod, place{Found: c.method}, "%s: %s", c.method, why)
	}
	if c.params != nil && c.params[0] != '{' {
		return nil, badParam("params", "expected an object, found %s", jsonlines.Kind(c.params))
	}
	return m.run(c)
}

// answered forgets a call.
func (s *session) answered(c *call) {
	c.cancel(nil)
	c.model.done()
	s.mu.Lock()
	delete(s.calls, c.number)
	s.mu.Unlock()
	s.release(c.bytes)
	s.server.metrics.answered(c.method, c.code, time.Since(c.received), c.compute)
	s.wakeFinish()
}
