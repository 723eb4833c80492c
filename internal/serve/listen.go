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
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				conn.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // it passes
			s.log.Warn("accept", "error", err)
			if !tooManyFiles(err) || !s.makeRoom() {
				time.Sleep(100 * time.Millisecond)
			}
			continue
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
