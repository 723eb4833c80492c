package serve

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"slices"
	"time"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// call is a request that has no response yet.
type call struct {
	session  *session
	id       json.RawMessage
	key      string // canonical form of the id
	method   string
	params   json.RawMessage
	model    *served
	edits    uint64 // number of the session's document edits when the request arrived
	received time.Time
	bytes    int64 // memory reserved on the server

	ctx    context.Context
	cancel context.CancelCauseFunc

	code    int // error code of the response, 0 for a result
	compute time.Duration
	tokens  int // tokens computed by the model
}

// startCall starts a call after pending writes have been flushed (backpressure), so that the session
// stops reading from a client that does not read.
func (s *session) startCall(c *call) {
	s.sending.Lock()
	defer s.sending.Unlock()
	s.callGroup.Go(c.respond)
}

// respond runs the call and writes its response.
func (c *call) respond() {
	c.complete(c.response())
	c.model.Done() // may close a device, so it runs after the response
	c.session.signalResponse()
}

// complete writes a call's response and removes the call.
func (c *call) complete(body []byte) {
	s := c.session
	s.sending.Lock()
	defer s.sending.Unlock()
	s.mu.Lock()
	delete(s.ids, c.key) // the client may reuse the id as soon as it reads the response
	s.mu.Unlock()
	s.sendNow(body)
	c.cancel(nil)
	s.mu.Lock()
	delete(s.calls, c)
	s.mu.Unlock()
	s.release(c.bytes)
	s.recordResponse(c.method, c.id, c.code, c.tokens, c.received, c.compute) // counted before the next call starts
}

// response returns the encoded response, with the id as the client wrote it.
func (c *call) response() []byte {
	field := `,"result":`
	value, err := c.encodedResult()
	if err != nil {
		e := asError(err)
		c.code = e.Code
		field = `,"error":`
		value, _ = json.Marshal(e)
	}
	return slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), c.id, []byte(field), value, []byte("}"))
}

// encodedResult runs the call's method and encodes its result as JSON.
func (c *call) encodedResult() ([]byte, error) { return c.encodeResult(c.result) }

// result runs the call's method.
func (c *call) result() (any, error) {
	m, ok := methods[c.method]
	if _, notifies := notifications[c.method]; !ok && (notifies || c.method == "exit") {
		return nil, fail(codeNoMethod, errorLocation{Found: c.method}, "%s is a notification: expected no id", c.method)
	}
	if !ok {
		return nil, fail(codeNoMethod, errorLocation{Found: c.method},
			"no method %q: the result of initialize lists the methods", c.method)
	}
	if reason := m.unsupported(c); reason != "" {
		return nil, fail(codeNoMethod, errorLocation{Found: c.method}, "%s: %s", c.method, reason)
	}
	if c.params != nil && c.params[0] != '{' {
		return nil, badParam("params", "expected an object, found %s", jsonlines.Kind(c.params))
	}
	return m.run(c)
}

// encodeResult calls result and encodes its value as JSON. It turns a panic into an error.
func (c *call) encodeResult(result func() (any, error)) (value []byte, err error) {
	defer c.recoverPanic(&err)
	found, err := result()
	if err != nil {
		return nil, err
	}
	if stopped := c.do(int(c.bytes), func() { value, err = json.Marshal(found) }); stopped != nil {
		return nil, stopped
	}
	if err != nil {
		return nil, fail(codeInternal, nil, "%v", err)
	}
	return value, nil
}

// do runs f in a turn of the session, or returns an error if the call is cancelled first. bytes is
// the size of f's input.
func (c *call) do(bytes int, f func()) error {
	if c.ctx.Err() != nil { // Do does not check this if a turn is free
		return context.Cause(c.ctx)
	}
	return c.session.share.Do(c.ctx, bytes, f)
}

// recoverPanic turns a panic into this call's error; it must be deferred.
func (c *call) recoverPanic(err *error) {
	if p := recover(); p != nil {
		c.session.log.Error("a method failed", "method", c.method, "panic", p, "stack", string(debug.Stack()))
		*err = fail(codeInternal, nil, "%s failed: %v", c.method, p)
	}
}
