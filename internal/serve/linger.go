package serve

import (
	"context"
	"errors"
	"net"
	"os"
	"time"
)

// halfCloser is a connection that can end one way of the two.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// linger ends what is written to a client, and waits until the client has it all, or
// ctx ends. A connection that is closed while input is unread, or gets more of it,
// is reset, and then what the client has not received yet is lost. So everything
// that comes is passed over until the client closes its end, or has received all and
// is silent for a while: not every client closes when it reads the end.
func linger(ctx context.Context, conn halfCloser, silence time.Duration) {
	if conn.CloseWrite() != nil {
		return
	}
	waste := make([]byte, 4096)
	for ctx.Err() == nil {
		conn.SetReadDeadline(time.Now().Add(silence))
		_, err := conn.Read(waste)
		if silent := errors.Is(err, os.ErrDeadlineExceeded); err != nil && !(silent && unreceived(conn)) {
			return
		}
	}
}

// turnAway refuses a session that a flag leaves no place for. Of many that are refused at
// once few are waited for: they have files open that others need.
func (s *session) turnAway(flag string) error {
	why := fail(codeBusy, retry{s.server.retryAfter()}, "there are as many connections as %s allows", flag)
	s.refuse(nil, why)
	defer s.end(errSessionOver)
	refusing := s.server.refusing.Add(1)
	defer s.server.refusing.Add(-1)
	if conn, ok := s.input.(halfCloser); ok && !s.stdio && refusing <= maxRefusing {
		ctx, cancel := context.WithTimeout(s.ctx, s.server.grace)
		defer cancel()
		linger(ctx, conn, s.server.grace)
	}
	return why
}

// maxRefusing is how many that are refused are waited for at a time.
const maxRefusing = 8
