package serve

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/sftseq/sftseq/internal/serve/transport"
)

// HTTPOptions are the ways of HTTP.
type HTTPOptions struct {
	Tokens   *Tokens       // a client must bear one of them; nil for no token
	Origins  []string      // origins of pages that may use the server from a browser; "*" for all
	Raw      bool          // leave vectors of /v1/embeddings unchanged; otherwise their length is 1
	Patience time.Duration // for what a client sends or reads, 0 is usualPatience
	Pace     int           // bytes a second that it sends or reads beyond that, 0 is usualPace
}

// A client that sends or reads less than the pace, after the server's patience, is cut.
const (
	usualPatience = 10 * time.Second
	usualPace     = 1 << 16
)

// What HTTP allows: header lines of a request, a connection without a request, unless
// --idle-timeout has another time, and what is passed over of a body that is too long, so
// that its client reads the answer.
const (
	maxHTTPHeader = 1 << 14
	httpIdle      = 2 * time.Minute
	maxDiscarded  = 64 << 20
)

// gateway answers HTTP. Each connection is a session of the server and each request a
// call of it, so that all limits and shares are those of JSON-RPC.
type gateway struct {
	server   *Server
	options  HTTPOptions
	endpoint *http.ServeMux
}

// ServeHTTP answers the requests of clients that connect, until ctx ends or l fails. It
// returns when those that were accepted are answered, or Drain has cancelled them.
func (s *Server) ServeHTTP(ctx context.Context, l net.Listener, o HTTPOptions) error {
	o.Patience, o.Pace = cmp.Or(o.Patience, usualPatience), cmp.Or(o.Pace, usualPace)
	g := &gateway{server: s, options: o}
	g.endpoint = g.endpoints()
	h := &http.Server{Handler: g, ReadHeaderTimeout: o.Patience, ReadTimeout: o.Patience, WriteTimeout: o.Patience,
		IdleTimeout: cmp.Or(s.options.IdleTimeout, httpIdle), MaxHeaderBytes: maxHTTPHeader,
		DisableGeneralOptionsHandler: true,
		ConnContext: func(ctx context.Context,
			c net.Conn) context.Context {
			return context.WithValue(ctx, webConnKey{}, c)
		},
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug)}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		h.Shutdown(context.Background())
	})
	err := h.Serve(&webListener{Listener: l, ctx: ctx, gateway: g})
	if stop() { // l has failed
		h.Shutdown(context.Background())
		return err
	}
	<-closed
	return nil
}

// ServeHTTP answers one request.
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{gateway: g, conn: r.Context().Value(webConnKey{}).(*webConn), w: w, r: r,
		control: http.NewResponseController(w), received: time.Now()}
	x.conn.begin(w)
	defer x.conn.end()
	x.identify()
	defer x.log()
	refused := x.misdirected()
	if refused == nil {
		if x.allowOrigin() {
			return
		}
		refused = g.refuses(r)
	}
	if refused != nil {
		w.Header().Set("Connection", "close")
		x.refuse(refused)
		return
	}
	if g.trusts(r) { // who may not ask keeps no place by asking
		x.trusted = true
		x.conn.session.activity.note()
		defer x.conn.session.activity.note()
	}
	// The mux would answer these by itself: with a redirect, or by words.
	if p := r.URL.Path; r.Method == http.MethodConnect || !strings.HasPrefix(p, "/") || path.Clean(p) != p {
		x.unknown()
		return
	}
	g.endpoint.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
}

// exchangeKey has the context of a request hold its exchange.
type exchangeKey struct{}

// of is a handler of an exchange.
func (g *gateway) of(answer func(*exchange)) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		x := r.Context().Value(exchangeKey{}).(*exchange)
		x.r = r // with the parts of its path
		answer(x)
	}
}

// misdirected refuses a request for another host where there is no token. A page can give this machine's address a name
// of its own, and so be taken for its origin. No page reaches a Unix socket.
func (x *exchange) misdirected() *webError {
	if x.gateway.options.Tokens != nil || ownName(x.r.Host) || x.conn.RemoteAddr().Network() == "unix" {
		return nil
	}
	return webFailure(http.StatusMisdirectedRequest, "", "",
		"Host %q: expected localhost or an address; other names need a server with --http-token, "+
			"or a proxy that sets Host: localhost", short(x.r.Host))
}

// refuses returns why a request without a token is refused, or nil. Probes of health need no token.
func (g *gateway) refuses(r *http.Request) *webError {
	if g.trusts(r) || isHealth(r.URL.Path) {
		return nil
	}
	e := webFailure(http.StatusUnauthorized, "", "invalid_api_key",
		"expected the header Authorization: Bearer with the token of --http-token")
	e.challenge = true
	return e
}

// ownName reports whether a host is named by an address, or as this machine is.
func ownName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || host == "" || strings.EqualFold(host, "localhost")
}

// maxShort is the number of bytes that an error or a line of the log quotes of a client's request.
const maxShort = 80

// short returns the beginning of a text that a client has sent.
func short(text string) string { return text[:min(len(text), maxShort)] }

// webListener has each connection be a session.
type webListener struct {
	net.Listener
	ctx     context.Context
	gateway *gateway
}

// Accept returns the next client that there is a place for.
func (l *webListener) Accept() (net.Conn, error) {
	s := l.gateway.server
	for {
		conn, err := s.accept(l.ctx, l.Listener)
		if conn == nil {
			if err == nil {
				err = http.ErrServerClosed
			}
			return nil, err
		}
		c := newWebConn(s, conn)
		switch admitted, crowded := s.admit(c.session); {
		case admitted:
			c.admitted()
			return c, nil
		case crowded != "":
			go c.turnAway(crowded)
		default:
			conn.Close()
		}
	}
}

// turnAway refuses a connection for which no slot is free. The first bytes of a request are awaited and answered by
// 429; a response before a request confuses clients. While maxRefusing others wait for that, the connection is reset: a
// client such as Node's takes a connection that is closed without a word for one to open again, without end.
func (c *webConn) turnAway(flag string) {
	s := c.session.server
	defer c.Conn.Close()
	defer c.session.end(errSessionOver)
	s.metrics.refused(codeBusy)
	refusing := s.refusing.Add(1)
	defer s.refusing.Add(-1)
	if tcp, ok := c.Conn.(*net.TCPConn); ok && refusing > maxRefusing {
		tcp.SetLinger(0)
		return
	}
	received := time.Now()
	c.SetReadDeadline(received.Add(s.grace))
	c.Read(make([]byte, 512))
	id := requestID(nil)
	e := asWebError(s.tooMany(flag, ""))
	s.metrics.responses.WithLabelValues(strconv.Itoa(e.status)).Inc()
	c.SetWriteDeadline(time.Now().Add(s.grace))
	c.Write(e.response(id))
	s.logAccess(received, 0, c.client(), id, slog.Int("status", e.status))
	if conn, ok := c.Conn.(transport.HalfCloser); ok {
		ctx, cancel := context.WithTimeout(context.Background(), s.grace)
		defer cancel()
		transport.Linger(ctx, conn, s.grace)
	}
}
