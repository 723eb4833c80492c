package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/serve/batching"
	"github.com/sftseq/sftseq/sft"
)

// Limits on the pending bare lines of a session. Above them the session stops reading, because a
// client that pipes a file cannot retry.
const (
	maxBareLines  = 4096
	maxBareTokens = 1 << 20
)

// bareLines holds the state of a session's bare lines. Instead of JSON-RPC, they have the format that
// predict reads.
type bareLines struct {
	seen    bool            // true after the first bare line
	ctx     context.Context // context of the lines' jobs; ends with the session or earlier
	cancel  context.CancelCauseFunc
	queue   chan *bareLine
	pending int // number of pending lines; guarded by the session's mutex
	tokens  int // tokens of the pending lines; guarded by the session's mutex
}

// bareLine is a line that waits for its response, in the order of the stream.
type bareLine struct {
	request *requests.Request
	model   *served
	job     *batching.Job // nil if the line is refused
	bytes   int64         // memory reserved on the server

	received time.Time
}

// tokens returns the line's number of tokens for the limits and the access log, or more for a graph with many
// edges per token. It returns 0 for a line that could not be parsed.
func (l *bareLine) tokens() int {
	return sft.PlannedTokens(l.request.Tokens(), len(l.request.Edges))
}

// bareMethod is the method name of bare lines in statistics, the access log and errors.
const bareMethod = "line"

// acceptBare handles a line in predict's format, which has no field jsonrpc. In a stream of bare
// lines it handles every line. It reports whether it has handled the line.
func (s *session) acceptBare(m *message) bool {
	model := s.server.acquire()
	parser := model.parser.With(s.name, model.config.Sequences())
	var r *requests.Request
	handled := true
	var maxBytes int64
	if s.share.Do(s.ctx, len(m.Body), func() { maxBytes = parser.MemoryOfLine(m.Body) }) != nil {
		model.Done()
		return true
	}
	memoryError := s.borrow(maxBytes, m.Room)
	err := s.share.Do(s.ctx, len(m.Body), func() {
		if memoryError != nil {
			r = parser.Parse(nil, m.Line, errors.New(memoryError.Message))
			r.Failure.Code = memoryError.Code
		} else {
			r = parser.Parse(m.Body, m.Line, nil)
		}
		f := r.Failure
		handled = f == nil || f.Code == requests.CodeParams || s.bareStream() || hasSequence(m.Body)
	})
	if memoryError == nil {
		s.release(maxBytes)
	}
	if err != nil || !handled {
		model.Done()
		return err != nil
	}
	s.bare.seen = true
	switch {
	case r.Failure != nil:
	case s.state == shutDown:
		r.Failure = &requests.Failure{Code: requests.CodeRequest, Message: "after shutdown only exit is expected"}
	case model.task.Method() == embedMethod:
		r.Failure = &requests.Failure{Code: requests.CodeRequest, Message: model.taskMismatch(bareMethod)}
	}
	size := int64(len(r.ID)+len(r.Label)) + r.Bytes() + jobBytes +
		numberBytes*int64(model.task.ResponseNumbers(r.Tokens()))
	s.queueBare(&bareLine{request: r, model: model, bytes: size, received: m.received})
	return true
}

// borrow reserves n more bytes, which a line needs while it is parsed. held is the number of bytes that
// the line has already reserved. If both together can never fit, borrow returns an error immediately;
// otherwise it waits at most bareWait for memory.
func (s *session) borrow(n, held int64) *Error {
	if limit := s.server.memory.maxRequest(); held+n > limit {
		return fail(codeParams, nil, "the line exceeds %d bytes, 15/16 of --max-memory: it needs at least %d",
			limit, held+n)
	}
	for deadline := time.Now().Add(bareWait); !s.reserveForRequest(n); {
		select {
		case <-time.After(time.Millisecond):
		case <-s.stopRead:
			return errStopped
		case <-s.ctx.Done():
			return errStopped
		}
		if time.Now().After(deadline) {
			return s.server.noMemory()
		}
	}
	return nil
}

// bareWait is the maximum time that a line waits for memory.
const bareWait = 10 * time.Second

// refuseBare queues the error of a line that could not be read.
func (s *session) refuseBare(m *message) {
	model := s.server.acquire()
	r := model.parser.With(s.name, 1, 2).Parse(nil, m.Line, m.Err)
	if noRoom, ok := errors.AsType[*jsonlines.NoRoom](m.Err); ok {
		r.Failure.Code = s.server.noMemoryForMessage(noRoom.Bytes).Code
	}
	s.queueBare(&bareLine{request: r, model: model, received: m.received})
}

// queueBare waits until the limits allow another line, submits the line's job and queues the line.
func (s *session) queueBare(l *bareLine) {
	tokens := l.tokens()
	for {
		s.mu.Lock()
		alone := s.bare.pending == 0
		hasRoom := s.bare.pending < maxBareLines && s.bare.tokens+tokens <= maxBareTokens && s.reserve(l.bytes)
		if !hasRoom && alone {
			l.bytes = 0 // a line always gets a response, even without memory, so that the stream progresses
		}
		if hasRoom || alone {
			s.bare.pending++
			s.bare.tokens += tokens
			s.mu.Unlock()
			break
		}
		s.mu.Unlock()
		select {
		case <-s.responseSent:
		case <-s.ctx.Done():
			l.model.Done()
			return
		}
	}
	if l.request.Failure == nil {
		l.job = s.server.batcher.Submit(s.bare.ctx, &s.account, &l.model.Model,
			batching.Classify, l.request.Example())[0]
	}
	s.bare.queue <- l // never blocks: the capacity exceeds the limit of pending lines
}

// writeBare writes the responses in order.
func (s *session) writeBare() {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	for l := range s.bare.queue {
		var result sft.Output
		var compute time.Duration
		var err error
		if l.job != nil {
			// The batch of a cancelled job may still run and set the job's time, so the time is not read.
			if result, err = l.job.Wait(); err == nil {
				compute = l.job.ComputeTime()
			}
		}
		var reply any
		var code int
		var bad error
		if s.share.Do(s.ctx, 0, func() {
			out.Reset()
			reply, code = l.response(result, err)
			bad = encoder.Encode(reply)
		}) == nil {
			if bad == nil {
				s.send(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
			}
			s.recordResponse(bareMethod, l.request.ID, code, l.tokens(), l.received, compute)
		}
		l.model.Done()
		s.release(l.bytes) // before pending falls, see Lend
		s.mu.Lock()
		s.bare.pending--
		s.bare.tokens -= l.tokens()
		s.mu.Unlock()
		s.signalResponse()
	}
}

// response returns the JSON value that predict would write, and the error code. code is 0 for a result.
func (l *bareLine) response(out sft.Output, err error) (reply any, code int) {
	f := l.request.Failure
	if f == nil && err == nil {
		if reply, err = l.model.reply(l.request, out); err == nil {
			return reply, 0
		}
	}
	if f == nil {
		e := asError(err)
		f = &requests.Failure{Code: e.Code, Message: e.Message}
	}
	return requests.Refusal{ID: l.request.ID, Error: f}, f.Code
}
