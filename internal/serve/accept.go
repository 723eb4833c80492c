package serve

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// accept handles one message. It returns a call for a request that runs concurrently, and queues a
// bare line. All other messages are complete before accept returns. A call takes over the message's
// memory, and m.Room is then 0.
func (s *session) accept(m *message) *call {
	switch {
	case m.Err != nil && s.bareStream():
		s.refuseBare(m)
		return nil
	case m.Err != nil:
		s.refuseUnparsed(headOf(m.Head), s.unparsedError(m))
		return nil
	case bytes.HasPrefix(bytes.TrimSpace(m.Body), []byte("[")) && !s.bareStream():
		s.refuseUnparsed(envelope{}, fail(codeInvalidRequest, errorLocation{Line: m.Line},
			"expected one message, found a list: batches are not supported"))
		return nil
	case !bytes.Contains(m.Body, []byte(`"jsonrpc"`)) && s.acceptBare(m):
		return nil
	}
	var e envelope
	var bad *Error
	if s.share.Do(s.ctx, len(m.Body), func() { e, bad = parseEnvelope(m.Message) }) != nil {
		return nil
	}
	if bad != nil {
		if !e.notJSONRPC || !s.acceptBare(m) {
			s.refuseUnparsed(e, bad)
		}
		return nil
	}
	s.sawJSONRPC = true
	switch {
	case e.response:
		s.log.Debug("received a response without a request")
		return nil
	case e.id == nil:
		s.handleNotification(e)
		return nil
	}
	return s.handleRequest(e, m)
}

// unparsedError returns the error for a message without a body: the message is too long, or there is no
// memory for it.
func (s *session) unparsedError(m *message) *Error {
	if noRoom, ok := errors.AsType[*jsonlines.NoRoom](m.Err); ok {
		return s.server.noMemoryForMessage(noRoom.Bytes)
	}
	return fail(codeParse, errorLocation{Line: m.Line}, "the message is longer than the %d bytes of --max-line",
		s.server.options.MaxLine)
}

// refuseUnparsed refuses a message that could not be parsed beyond the envelope e. If the message may
// have changed a document, refuseUnparsed also marks all documents as broken.
func (s *session) refuseUnparsed(e envelope, reason *Error) {
	if e.id == nil && (e.method == "" || strings.HasPrefix(e.method, changePrefix) ||
		strings.HasPrefix(e.method, editorPrefix)) {
		s.breakDocuments(reason)
	}
	s.refuse(e.id, reason)
}

// Prefixes of the notifications that change documents.
const (
	changePrefix = "sequence/did"
	editorPrefix = "textDocument/did"
)

// bareStream reports whether the stream has had only bare lines so far. Errors then
// have the format of bare lines.
func (s *session) bareStream() bool { return s.bare.seen && !s.sawJSONRPC }

func (s *session) handleNotification(e envelope) {
	if e.method == "exit" {
		s.exit()
		return
	}
	if s.state == uninitialized || s.state == shutDown && e.method != cancelMethod {
		return // dropped before initialize (LSP), and after shutdown except $/cancelRequest
	}
	f, ok := notifications[e.method]
	if !ok {
		if len(e.method) < 2 || e.method[:2] != "$/" { // LSP: unknown $/ notifications are ignored
			s.logMessage(logWarning, "unknown notification %q", e.method)
		}
		return
	}
	if err := f(s, e.params); err != nil {
		s.logMessage(logError, "%s: %s", e.method, asError(err).Message)
	}
}

// handleRequest runs a lifecycle request immediately and returns nil. For any other request it returns
// a call, or nil if the request is refused.
func (s *session) handleRequest(e envelope, m *message) *call {
	if f, ok := ordered[e.method]; ok {
		result, err := f(s, e.params)
		if err != nil {
			s.refuse(e.id, asError(err))
		} else {
			s.recordResponse(e.method, e.id, 0, 0, m.received, 0)
			s.result(e.id, result)
		}
		return nil
	}
	switch s.state {
	case uninitialized:
		s.refuse(e.id, fail(codeNotInitialized, errorLocation{Found: e.method},
			"%s: the session is not initialized: send initialize first", e.method))
		return nil
	case shutDown:
		s.refuse(e.id, fail(codeInvalidRequest, errorLocation{Found: e.method},
			"%s: after shutdown only exit is expected", e.method))
		return nil
	}
	s.mu.Lock()
	key := keyOf(e.id)
	// An id is free again once its response is being written, because the client may already have
	// read the response.
	inflight, used := len(s.ids), s.ids[key] != nil
	s.mu.Unlock()
	if used {
		s.refuse(e.id, fail(codeInvalidRequest, errorLocation{Field: "id", Found: jsonlines.Kind(e.id)},
			"id: a pending request has the same id"))
		return nil
	}
	if limit := s.server.options.MaxInflight; inflight >= limit {
		s.refuse(e.id, fail(codeBusy, retryDelay{s.server.retryAfter()},
			"%d requests are pending, expected at most %d", inflight, limit))
		return nil
	}
	c := &call{session: s, id: e.id, key: key, method: e.method, params: e.params, edits: s.edits,
		received: m.received, bytes: m.Room}
	if err := c.reserve(int64(len(m.Body)) - m.Room); err != nil {
		s.refuse(e.id, asError(err))
		return nil
	}
	m.Room = 0
	c.model = s.server.acquire()
	c.ctx, c.cancel = context.WithCancelCause(s.ctx)
	s.mu.Lock()
	s.calls[c], s.ids[key] = struct{}{}, c
	s.mu.Unlock()
	return c
}
