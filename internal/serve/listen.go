package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// ServeListener answers every client that connects, until ctx ends or l fails.
// Sessions that have begun go on.
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

// accept is the next client's connection. There is none when ctx has ended, and when l has
// failed, which is an error.
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
		s.log.Warn("accept", "error", err) // it passes
		if !tooManyFiles(err) || !s.makeRoom() {
			time.Sleep(100 * time.Millisecond)
		}
	}
}
