package serve

import (
	"context"

	"github.com/sftseq/sftseq/internal/serve/transport"
)

// turnAway refuses a session above the limit of a flag. It waits for at most maxRefusing refused
// clients to read the error, because these connections take open files.
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

// maxRefusing is the maximum number of refused connections that are waited for.
const maxRefusing = 256
