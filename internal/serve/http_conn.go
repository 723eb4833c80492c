package serve

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sftseq/sftseq/internal/serve/transport"
)

// webConn is an HTTP connection and its session. It handles one request at a time.
type webConn struct {
	net.Conn
	session *session
	once    sync.Once // guards Close

	mu       sync.Mutex
	phase    phase
	stopping bool // no further requests are accepted
	response http.ResponseWriter
}

// webConnKey is the context key of a request's connection.
type webConnKey struct{}

// phase is the state of a connection.
type phase int

const (
	awaitingRequest phase = iota // between requests
	readingBody
	responding
)

func newWebConn(s *Server, conn net.Conn) *webConn {
	c := &webConn{Conn: conn}
	x := s.newSession("HTTP from "+c.client(), conn, false)
	c.session = x
	x.frames = noFrames{}
	x.out = transport.NewOutlet(responseWriter{c}, func(int, func()) {})
	return c
}

// client returns the client's address, or "a Unix socket".
func (c *webConn) client() string {
	if peer := c.RemoteAddr(); peer != nil && peer.Network() != "unix" {
		return peer.String()
	}
	return "a Unix socket"
}

// watchSession starts to watch an admitted connection. It closes the connection when the session ends,
// and calls stop when the server drains.
func (c *webConn) watchSession() {
	x := c.session
	x.log.Debug("session begins")
	context.AfterFunc(x.ctx, func() { c.Conn.Close() })
	go func() {
		select {
		case <-x.stopRead:
			c.stop()
		case <-x.ctx.Done():
		}
	}()
}

// stop prevents further requests. Between requests it ends the session. A request whose body is still
// being read is refused.
func (c *webConn) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopping = true
	switch c.phase {
	case awaitingRequest:
		c.session.end(errStopped)
	case readingBody:
		c.SetReadDeadline(time.Now())
	}
}

// beginRequest marks the start of a request with the response writer w.
func (c *webConn) beginRequest(w http.ResponseWriter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.phase, c.response = readingBody, w
}

// endBody marks the end of a request's body. It returns false if the request is refused because the
// server drains.
func (c *webConn) endBody() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return false
	}
	c.phase = responding
	c.SetReadDeadline(time.Time{}) // further reads only detect whether the client is still connected
	return true
}

// setBodyDeadline sets the deadline for reading more of a request's body.
func (c *webConn) setBodyDeadline(until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopping {
		c.SetReadDeadline(until)
	}
}

// isLastResponse reports whether the current response is the last one on the connection.
func (c *webConn) isLastResponse() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopping
}

// endRequest marks the end of a request. If the server drains, endRequest ends the session, unless
// net/http closes the connection.
func (c *webConn) endRequest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	// After a response with Connection: close, net/http closes the connection and gives the client time
	// to read the response.
	if c.stopping && c.response.Header().Get("Connection") != "close" {
		c.session.end(errStopped)
	}
	c.phase, c.response = awaitingRequest, nil
}

// Close ends the connection and its session. net/http calls it after the last request.
func (c *webConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		x := c.session
		x.end(errSessionOver)
		x.log.Debug("session ends")
		x.server.leave(x)
		close(x.connectionClosed)
	})
	return err
}

// CloseWrite closes the sending half, so that a client that still sends can read the response.
func (c *webConn) CloseWrite() error {
	if conn, ok := c.Conn.(transport.HalfCloser); ok {
		return conn.CloseWrite()
	}
	return nil
}

// responseWriter writes to the response of the current request.
type responseWriter struct{ conn *webConn }

func (r responseWriter) Write(p []byte) (int, error) { return r.conn.response.Write(p) }

// noFrames discards messages that the server would push: HTTP has only responses.
type noFrames struct{}

func (noFrames) Read() (transport.Message, error) { return transport.Message{}, net.ErrClosed }
func (noFrames) Write([]byte) error               { return nil }
