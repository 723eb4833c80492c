package serve

import (
	"context"

	"github.com/sftseq/sftseq/internal/serve/transport"
)

// turnAway refuses a session above the limit of a flag. The connection stays open until the client closes
// it, but at most for the server's grace time, so that the client can read the error. Because each open
// connection takes a file descriptor, turnAway does not wait if maxRefusing refused connections are open
// already.
func (s *session) turnAway(flag string) error {
	reason := s.server.tooMany(flag, "")
	s.refuse(nil, reason)
	defer s.end(errSessionOver)
	refusing := s.server.refusals.Add(1)
	defer s.server.refusals.Add(-1)
	if conn, ok := s.input.(transport.HalfCloser); ok && !s.stdio && refusing <= maxRefusing {
		ctx, cancel := context.WithTimeout(s.ctx, s.server.grace)
		defer cancel()
		transport.Linger(ctx, conn, s.server.grace)
	}
	return reason
}

// maxRefusing is the maximum number of refused connections that the server keeps open so that their
// clients can read the error.
const maxRefusing = 256
