package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// Listen opens unix:PATH or tcp:HOST:PORT. A host is this machine alone unless
// it is named: nobody else is meant to be served by accident. The socket of a
// server that was killed is replaced.
func Listen(address string) (net.Listener, error) {
	network, rest, _ := strings.Cut(address, ":")
	switch {
	case network == "unix" && rest != "":
		if err := removeDead(rest); err != nil {
			return nil, err
		}
		return net.Listen("unix", rest)
	case network == "tcp" && rest != "":
		host, port, err := net.SplitHostPort(rest)
		if err != nil {
			return nil, fmt.Errorf("%s: expected tcp:HOST:PORT: %w", address, err)
		}
		if host == "" {
			host = "127.0.0.1"
		}
		return net.Listen("tcp", net.JoinHostPort(host, port))
	}
	return nil, fmt.Errorf("%q: expected unix:PATH or tcp:HOST:PORT", address)
}

// removeDead removes a socket that nobody listens on.
func removeDead(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s: expected a socket or nothing, found %v", path, info.Mode())
	}
	c, err := net.Dial("unix", path)
	if err == nil {
		c.Close()
		return fmt.Errorf("%s: another server listens there", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) { // such as a server with a full backlog
		return fmt.Errorf("another server may listen there: %w", err)
	}
	return os.Remove(path)
}

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
		case err != nil: // such as too many open files: it passes
			s.log.Warn("accept", "error", err)
			time.Sleep(100 * time.Millisecond)
			continue
		}
		go s.Serve(fmt.Sprintf("connection %d", n), conn, conn, false)
	}
}
