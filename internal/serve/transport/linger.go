package transport

import (
	"context"
	"errors"
	"net"
	"os"
	"time"
)

// HalfCloser is a connection that can end one way of the two.
type HalfCloser interface {
	net.Conn
	CloseWrite() error
}

// Linger ends what is written to a client, and waits until the client has it all, or
// ctx ends. A connection that is closed while input is unread, or gets more of it,
// is reset, and then what the client has not received yet is lost. So everything
// that comes is passed over until the client closes its end, or has received all and
// is silent for a while: not every client closes when it reads the end.
func Linger(ctx context.Context, conn HalfCloser, silence time.Duration) {
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
