package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// ServeListener serves every client that connects to l until ctx ends or l is closed. Started sessions
// continue after it returns.
func (s *Server) ServeListener(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	for n := 1; ; n++ {
		conn, err := s.accept(ctx, l)
		if conn == nil {
			return err
		}
		name := fmt.Sprintf("connection %d", n)
		if peer := conn.RemoteAddr(); peer.Network() == "tcp" {
			name += " from " + peer.String()
		}
		go func() {
			if err := s.Serve(name, conn, conn, false); err != nil {
				s.log.Warn("a session ended early", "session", name, "error", err)
			}
		}()
	}
}

// accept returns the next connection of l. It returns nil and no error when ctx has ended, and an
// error when l was closed for another reason. Any other error of l is temporary: accept retries.
func (s *Server) accept(ctx context.Context, l net.Listener) (net.Conn, error) {
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				conn.Close()
			}
			return nil, nil
		case errors.Is(err, net.ErrClosed):
			return nil, err
		case err == nil:
			return conn, nil
		}
		s.log.Warn("accept", "error", err) // a temporary error
		if !tooManyFiles(err) || !s.makeRoom() {
			time.Sleep(100 * time.Millisecond)
		}
	}
}
