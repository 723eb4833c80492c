package serve

import "context"

// What the reading of a message may do before it looks at its client again, about as long
// as 64 KiB of text take; and what a change of a document counts for beside its text.
const (
	yieldWork  = 1 << 16
	changeWork = 1 << 8
)

// yield is called between the pieces of the work that a message takes while it is read,
// with how much has been done. An error says that nobody wants what is left: the client
// is gone, or the server stops.
func (s *session) yield(work int) error {
	if s.worked += work; s.worked < yieldWork {
		return nil
	}
	s.worked = 0
	if s.ctx.Err() == nil && closed(s.input) {
		s.end(over("the client is gone"))
	}
	if !s.ending() {
		return nil
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
