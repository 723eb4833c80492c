package serve

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// accept handles one message. It returns a call for a request that runs concurrently. All other
// messages are complete, in the order of the stream, before accept returns. If the message is kept,
// its memory (Room) is kept with it.
func (s *session) accept(m *message) *call {
	switch {
	case m.Err != nil && s.bareStream():
		s.refuseBare(m)
		return nil
	case m.Err != nil:
		s.unread(headOf(m.Head), s.whyUnread(m))
		return nil
	case bytes.HasPrefix(bytes.TrimSpace(m.Body), []byte("[")) && !s.bareStream():
		s.unread(envelope{}, fail(codeInvalidRequest, place{Line: m.Line},
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
		if !e.other || !s.acceptBare(m) {
			s.unread(e, bad)
		}
		return nil
	}
	s.spoken = true
	switch {
	case e.response:
		s.log.Debug("received a response without a request")
		return nil
	case e.id == nil:
		s.notified(e)
		return nil
	}
	return s.requested(e, m)
}

// whyUnread returns the error for a message without a body.
func (s *session) whyUnread(m *message) *Error {
	if none, ok := errors.AsType[*jsonlines.NoRoom](m.Err); ok {
		return s.server.noRoom(none.Bytes)
	}
	return fail(codeParse, place{Line: m.Line}, "the message is longer than the %d bytes of --max-line",
		s.server.options.MaxLine)
}

// unread refuses a message that could not be parsed, or only up to the envelope e. Without an id,
// the message may have been a change of a document.
func (s *session) unread(e envelope, why *Error) {
	if e.id == nil && (e.method == "" || strings.HasPrefix(e.method, changePrefix) ||
		strings.HasPrefix(e.method, editorPrefix)) {
		s.loseEdits(why)
	}
	s.refuse(e.id, why)
}

// Prefixes of the notifications that change documents.
const (
	changePrefix = "sequence/did"
	editorPrefix = "textDocument/did"
)

// bareStream reports whether the stream has had only bare lines so far. Errors then have the format
// of bare lines.
func (s *session) bareStream() bool { return s.bare.seen && !s.spoken }

// notified handles a notification.
func (s *session) notified(e envelope) {
	if e.method == "exit" {
		s.exit()
		return
	}
	if s.life == uninitialized || s.life == shutDown && e.method != cancelMethod {
		return // LSP: unknown $/ notifications are ignored
	}
	f, ok := notifications[e.method]
	if !ok {
		if len(e.method) < 2 || e.method[:2] != "$/" {
			s.logMessage(logWarning, "unknown notification %q", e.method)
		}
		return
	}
	if err := f(s, e.params); err != nil {
		s.logMessage(logError, "%s: %s", e.method, asError(err).Message)
	}
}

// requested returns the call of a request, or nil if the request is refused.
func (s *session) requested(e envelope, m *message) *call {
	if f, ok := ordered[e.method]; ok {
		result, err := f(s, e.params)
		if err != nil {
			s.refuse(e.id, asError(err))
		} else {
			s.answered(e.method, e.id, 0, 0, m.received, 0)
			s.result(e.id, result)
		}
		return nil
	}
	switch s.life {
	case uninitialized:
		s.refuse(e.id, fail(codeNotInitialized, place{Found: e.method}, "%s: expected initialize first", e.method))
		return nil
	case shutDown:
		s.refuse(e.id, fail(codeInvalidRequest, place{Found: e.method},
			"%s: after shutdown only exit is expected", e.method))
		return nil
	}
	s.mu.Lock()
	key := keyOf(e.id)
	// An id is free again once its response is being written, because the client may already have
	// read it.
	inflight, used := len(s.ids), s.ids[key] != nil
	s.mu.Unlock()
	if used {
		s.refuse(e.id, fail(codeInvalidRequest, place{Field: "id", Found: jsonlines.Kind(e.id)},
			"id: a pending request has the same id"))
		return nil
	}
	if limit := s.server.options.MaxInflight; inflight >= limit {
		s.refuse(e.id, fail(codeBusy, retry{s.server.retryAfter()},
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
