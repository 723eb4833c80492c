package serve

import (
	"context"

	"github.com/sftseq/sftseq/internal/serve/transport"
)

// turnAway refuses a session beyond the limit of a flag. Only maxRefusing refused clients are waited for: they hold
// files that others need.
func (s *session) turnAway(flag string) error {
	why := s.server.tooMany(flag, "")
	s.refuse(nil, why)
	defer s.end(errSessionOver)
	refusing := s.server.refusing.Add(1)
	defer s.server.refusing.Add(-1)
	if conn, ok := s.input.(transport.HalfCloser); ok && !s.stdio && refusing <= maxRefusing {
		ctx, cancel := context.WithTimeout(s.ctx, s.server.grace)
		defer cancel()
		transport.Linger(ctx, conn, s.server.grace)
	}
	return why
}

// maxRefusing is how many refused connections are waited for at a time.
const maxRefusing = 256
