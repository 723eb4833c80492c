package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"

	"sftseq/internal/requests"
)

// The life of a session, as LSP has it.
type life int

const (
	born life = iota // before initialize
	live
	down // after shutdown
)

// session is one client's stream. Messages are read in order by Recv, which
// jrpc2 calls; it answers some of them itself and hands the others on.
type session struct {
	server *Server
	frames frames
	name   string // of the input, in errors of bare lines
	stdio  bool
	log    *slog.Logger
	rpc    *jrpc2.Server

	ctx      context.Context // ends when the client is gone or must go
	end      context.CancelCauseFunc
	messages chan message  // what was read; closed at the end of input
	readErr  error         // why; set before messages is closed
	stopRead chan struct{} // closed when nothing more is to be read
	stopOnce sync.Once

	// What only the goroutine that reads uses.
	life   life
	spoken bool // JSON-RPC was seen
	bare   bareLines
	utf16  bool
	number int64 // of calls
	edits  uint64
	exited bool // by exit
	status int  // exit status

	mu      sync.Mutex
	calls   map[int64]*call
	ids     map[string]*call
	settled chan struct{} // has an element after an answer

	documents documents
	work      sync.WaitGroup // goroutines other than the calls
}

// call is a request that is being answered.
type call struct {
	session  *session
	number   int64
	id       json.RawMessage
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

// run answers the session's messages to the end, and returns the exit status.
func (s *session) run(r io.Reader) int {
	s.work.Go(s.writeBare)
	pumped := make(chan struct{})
	go func() {
		defer close(pumped)
		s.pump()
	}()
	s.rpc = jrpc2.NewServer(s, &jrpc2.ServerOptions{AllowPush: true, DisableBuiltin: true, Concurrency: 1 << 20})
	s.rpc.Start(s)
	s.rpc.WaitStatus()
	s.end(errSessionOver)
	for _, c := range s.calls { // that jrpc2 had not begun: nobody is there to be answered
		c.code = codeStopped
		s.answered(c)
	}
	s.documents.close()
	close(s.bare.queue)
	s.work.Wait()
	if c, ok := r.(io.Closer); ok && !s.stdio {
		c.Close()
		<-pumped
	}
	return s.status
}

// pump reads messages until the end, or until nobody takes them.
func (s *session) pump() {
	defer close(s.messages)
	for {
		m, err := s.frames.read()
		if err != nil {
			s.readErr = err
			return
		}
		select {
		case s.messages <- m:
		case <-s.stopRead:
			return
		case <-s.ctx.Done():
			return
		}
	}
}

// stop has the session end when what it has accepted is answered.
func (s *session) stop() { s.stopOnce.Do(func() { close(s.stopRead) }) }

// Recv returns the next request for jrpc2, which dispatches it. The id is a
// number of our own: a client's may be anything, and may be used twice.
func (s *session) Recv() ([]byte, error) {
	for !s.exited {
		select {
		case <-s.stopRead:
			s.finish()
			return nil, io.EOF
		default:
		}
		select {
		case m, ok := <-s.messages:
			if !ok {
				s.endOfInput()
				return nil, io.EOF
			}
			if c := s.accept(m); c != nil {
				return c.encode(), nil
			}
		case <-s.stopRead:
		case <-s.ctx.Done():
			return nil, io.EOF
		}
	}
	if s.status == 0 {
		s.finish()
	}
	return nil, io.EOF
}

// endOfInput answers what is pending, and says why reading ended if not well.
func (s *session) endOfInput() {
	if s.readErr != nil && s.readErr != io.EOF {
		if s.ctx.Err() == nil {
			s.log.Warn("reading ended", "error", s.readErr)
		}
		if bad, ok := s.readErr.(errHeader); ok {
			s.refuse(nil, fail(codeParse, nil, "%v", bad))
		} else {
			s.end(errSessionOver) // the client is gone
		}
		s.status = 1
	}
	s.finish()
}

// finish waits until every call and bare line is answered.
func (s *session) finish() {
	for {
		s.mu.Lock()
		pending := len(s.calls) + s.bare.pending
		s.mu.Unlock()
		if pending == 0 {
			return
		}
		select {
		case <-s.settled:
		case <-s.ctx.Done():
			return
		}
	}
}

// wakeFinish has finish, and what waits for room, look again.
func (s *session) wakeFinish() {
	select {
	case s.settled <- struct{}{}:
	default:
	}
}

// encode is the call as jrpc2 reads it.
func (c *call) encode() []byte {
	out := strconv.AppendInt([]byte(`{"jsonrpc":"2.0","method":"call","id":`), c.number, 10)
	return append(out, '}')
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
		if text, err = json.Marshal(result); err == nil {
			return json.RawMessage(text), nil
		}
		err = fail(codeInternal, nil, "%v", err)
	}
	if cause := context.Cause(c.ctx); cause != nil {
		err = cause
	}
	e := asError(err)
	c.code = e.Code
	return nil, e
}

func (c *call) answer() (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.session.log.Error("a method failed", "method", c.method, "panic", p, "stack", string(debug.Stack()))
			err = fail(codeInternal, nil, "%s failed: %v", c.method, p)
		}
	}()
	m, ok := methods[c.method]
	if !ok {
		return nil, fail(codeNoMethod, place{Found: c.method}, "no method %q", c.method)
	}
	if why := m.lacking(c); why != "" {
		return nil, fail(codeNoMethod, place{Found: c.method}, "%s: %s", c.method, why)
	}
	if c.params != nil && c.params[0] != '{' {
		return nil, badParam("params", "expected an object, found %s", requests.Kind(c.params))
	}
	return m.run(c)
}

// responsePrefix begins every response of jrpc2; a push has no id.
const responsePrefix = `{"jsonrpc":"2.0","id":`

// Send writes what jrpc2 sends. A response gets the client's id back.
func (s *session) Send(body []byte) error {
	c, rest := s.responseOf(body)
	if c != nil {
		out := make([]byte, 0, len(body)+len(c.id)+1)
		out = append(append(append(out, responsePrefix...), c.id...), rest...)
		body = out
	}
	err := s.frames.write(body)
	if err != nil {
		s.end(fmt.Errorf("%w: %v", errSessionOver, err))
	}
	if c != nil {
		s.answered(c)
	}
	return err
}

func (s *session) responseOf(body []byte) (*call, []byte) {
	if len(body) < len(responsePrefix) || string(body[:len(responsePrefix)]) != responsePrefix {
		return nil, nil
	}
	at := len(responsePrefix)
	end := at
	for end < len(body) && body[end] >= '0' && body[end] <= '9' {
		end++
	}
	number, err := strconv.ParseInt(string(body[at:end]), 10, 64)
	if err != nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[number], body[end:]
}

// answered forgets a call.
func (s *session) answered(c *call) {
	c.cancel(nil)
	c.model.done()
	s.mu.Lock()
	delete(s.calls, c.number)
	delete(s.ids, string(c.id))
	s.mu.Unlock()
	s.release(c.bytes)
	s.server.metrics.answered(c.method, c.code, time.Since(c.received), c.compute)
	s.wakeFinish()
}

// Close is called by jrpc2 when it ends.
func (s *session) Close() error { return nil }

// refuse answers a message by an error without running anything.
func (s *session) refuse(id json.RawMessage, e *jrpc2.Error) {
	if id == nil {
		id = json.RawMessage("null")
	}
	s.server.metrics.refused(e.Code)
	s.write(response{"2.0", id, e})
}

type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   *jrpc2.Error    `json:"error"`
}

// result answers a request that was run in order.
func (s *session) result(id json.RawMessage, result any) {
	s.write(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{"2.0", id, result})
}

func (s *session) write(v any) {
	body, err := json.Marshal(v)
	if err == nil {
		err = s.frames.write(body)
	}
	if err != nil {
		s.end(fmt.Errorf("%w: %v", errSessionOver, err))
	}
}

// notify pushes a notification.
func (s *session) notify(method string, params any) {
	if err := s.rpc.Notify(s.ctx, method, params); err != nil && s.ctx.Err() == nil {
		s.log.Debug("a push was lost", "method", method, "error", err)
	}
}

// Kinds of window/logMessage.
const (
	logError   = 1
	logWarning = 2
	logInfo    = 3
)

// tell logs for the client.
func (s *session) tell(kind int, format string, args ...any) {
	s.notify("window/logMessage", struct {
		Type    int    `json:"type"`
		Message string `json:"message"`
	}{kind, fmt.Sprintf(format, args...)})
}

// reserve takes bytes of the server's memory, or says that there is none.
func (s *session) reserve(n int64) bool { return s.server.memory.take(n) }

func (s *session) release(n int64) { s.server.memory.give(n) }
