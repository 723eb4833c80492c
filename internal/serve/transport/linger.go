package transport

import (
	"context"
	"errors"
	"net"
	"os"
	"time"
)

// HalfCloser is a connection whose sending half can be closed alone.
type HalfCloser interface {
	net.Conn
	CloseWrite() error
}

// Linger closes the sending half of a connection and discards input until the client closes or ctx
// ends. Closing a connection with unread input would reset it and lose data in flight. Because not
// every client closes at the end of its input, Linger also returns when the client has received all
// data and has sent nothing for the duration given by silence.
func Linger(ctx context.Context, conn HalfCloser, silence time.Duration) {
	if conn.CloseWrite() != nil {
		return
	}
	discarded := make([]byte, 4096)
	for ctx.Err() == nil {
		conn.SetReadDeadline(time.Now().Add(silence))
		_, err := conn.Read(discarded)
		if silent := errors.Is(err, os.ErrDeadlineExceeded); err != nil && !(silent && hasUnreceivedData(conn)) {
			return
		}
	}
}
