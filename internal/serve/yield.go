package serve

import (
	"context"

	"github.com/sftseq/sftseq/internal/serve/fair"
	"github.com/sftseq/sftseq/internal/serve/transport"
)

// yieldWork is the work after which yield ends the turn and checks for a closed client, in bytes of
// text read. changeWork is the work of a document change besides its text, in the same unit.
const (
	yieldWork  = 1 << 16
	changeWork = 1 << 8
)

// runInTurns runs f in turns of the session. f processes a message of the given size and yields
// between pieces. A piece may be large: many MiB of changes are scanned in one piece.
func (s *session) runInTurns(bytes int, f func() error) (err error) {
	if s.turn, err = s.share.Begin(s.ctx, fair.KindOf(bytes)); err != nil {
		return err
	}
	defer func() {
		if s.turn != (fair.Turn{}) {
			s.turn.End()
			s.turn = fair.Turn{}
		}
	}()
	return f()
}

// yield is called between pieces of work on a message, with the work of the last piece. Each time the total
// reaches yieldWork, yield ends the turn, if any, and waits for another. It returns an error if the rest of
// the message is not needed, because the client disconnected or the server drains.
func (s *session) yield(work int) error {
	if s.unyieldedWork += work; s.unyieldedWork < yieldWork {
		return nil
	}
	s.unyieldedWork = 0
	held, kind := s.turn != (fair.Turn{}), s.turn.Kind
	if held {
		s.turn.End()
		s.turn = fair.Turn{}
	}
	if s.ctx.Err() == nil && transport.Closed(s.input) {
		s.end(sessionOver("the client has disconnected"))
	}
	if !s.ending() {
		var err error
		if held {
			s.turn, err = s.share.Begin(s.ctx, kind)
		}
		return err
	}
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	return errStopped
}

// ending reports whether the session is ending, which makes the remaining work on its messages unnecessary.
func (s *session) ending() bool {
	select {
	case <-s.stopRead:
		return true
	case <-s.ctx.Done():
		return true
	default:
		return false
	}
}
