package serve

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sftseq/sftseq/internal/serve/transport"
)

// webConn is a connection of HTTP, which is a session of the server. Requests follow
// each other on it.
type webConn struct {
	net.Conn
	session *session
	once    sync.Once // its end

	mu       sync.Mutex
	phase    phase
	stopping bool // nothing more is to be read
	response http.ResponseWriter
}

// webConnKey has the context of a request hold its connection.
type webConnKey struct{}

// phase is what a connection does.
type phase int

const (
	waits phase = iota // for a request
	reads              // the body of one
	works
)

func newWebConn(s *Server, conn net.Conn) *webConn {
	c := &webConn{Conn: conn}
	x := s.newSession("HTTP from "+c.client(), conn, false)
	c.session = x
	x.frames = silence{}
	x.out = transport.NewOutlet(responses{c}, func(int, func()) {})
	return c
}

// client names the client by its address; the clients of a Unix socket have none.
func (c *webConn) client() string {
	if peer := c.RemoteAddr(); peer != nil && peer.Network() != "unix" {
		return peer.String()
	}
	return "a Unix socket"
}

// admitted watches an accepted connection: the end of its session closes it, and so does the end of the server.
func (c *webConn) admitted() {
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

// stop has nothing more be read: what is being read is not accepted yet.
func (c *webConn) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopping = true
	switch c.phase {
	case waits:
		c.session.end(errStopped)
	case reads:
		c.SetReadDeadline(time.Now())
	}
}

// begin is that of a request, which is answered by w.
func (c *webConn) begin(w http.ResponseWriter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.phase, c.response = reads, w
}

// read ends the reading of a request; it reports whether it is accepted.
func (c *webConn) read() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return false
	}
	c.phase = works
	c.SetReadDeadline(time.Time{}) // further reads only detect whether the client is there
	return true
}

// extend gives a client time for more of a body.
func (c *webConn) extend(until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopping {
		c.SetReadDeadline(until)
	}
}

// stops reports whether the answer is the last one.
func (c *webConn) stops() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopping
}

// end is that of a request, whose answer is on its way. A connection of a server that stops
// ends then.
func (c *webConn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	// else net/http closes it when the client has all
	if c.stopping && c.response.Header().Get("Connection") != "close" {
		c.session.end(errStopped)
	}
	c.phase, c.response = waits, nil
}

// Close ends the connection and its session. It is called when no request is answered.
func (c *webConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		x := c.session
		x.end(errSessionOver)
		x.log.Debug("session ends")
		x.server.leave(x)
		close(x.gone)
	})
	return err
}

// CloseWrite ends what is written, so that a client that still sends gets its answer.
func (c *webConn) CloseWrite() error {
	if conn, ok := c.Conn.(transport.HalfCloser); ok {
		return conn.CloseWrite()
	}
	return nil
}

// responses writes to the request that is being answered.
type responses struct{ conn *webConn }

func (r responses) Write(p []byte) (int, error) { return r.conn.response.Write(p) }

// silence is the way of what the server says on its own: over HTTP it is only asked.
type silence struct{}

func (silence) Read() (transport.Message, error) { return transport.Message{}, net.ErrClosed }
func (silence) Write([]byte) error               { return nil }
