package serve

import (
	"context"

	"github.com/sftseq/sftseq/internal/serve/fair"
	"github.com/sftseq/sftseq/internal/serve/transport"
)

// What the reading of a message may do before it looks at its client again, about as long
// as 64 KiB of text take; and what a change of a document counts for beside its text.
const (
	yieldWork  = 1 << 16
	changeWork = 1 << 8
)

// inTurns runs f in turns of the session: f reads a number of bytes of a message and yields between pieces. A piece may
// be the whole: a change of many MiB is scanned in one.
func (s *session) inTurns(bytes int, f func() error) (err error) {
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

// yield is called between the pieces of the work that a message takes while it is read,
// with how much has been done. An error says that nobody wants what is left: the client
// is gone, or the server stops.
func (s *session) yield(work int) error {
	if s.worked += work; s.worked < yieldWork {
		return nil
	}
	s.worked = 0
	held, kind := s.turn != (fair.Turn{}), s.turn.Kind
	if held {
		s.turn.End()
		s.turn = fair.Turn{}
	}
	if s.ctx.Err() == nil && transport.Closed(s.input) {
		s.end(over("the client is gone"))
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

// ending reports whether what has not been done for the session is not wanted any more.
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
