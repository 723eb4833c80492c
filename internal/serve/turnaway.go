package serve

import (
	"context"

	"github.com/sftseq/sftseq/internal/serve/transport"
)

// turnAway refuses a session that a flag leaves no place for. Of many that are refused at
// once few are waited for: they have files open that others need.
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
