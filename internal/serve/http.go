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

// HTTPOptions configures [Server.ServeHTTP].
type HTTPOptions struct {
	Tokens  *Tokens       // valid tokens for requests; nil disables authentication
	Origins []string      // origins whose pages may use the server from a browser; "*" for all
	Raw     bool          // whether /v1/embeddings returns vectors without scaling them to length 1
	Timeout time.Duration // base time limit to send or read a message; 0 means defaultTimeout
	MinRate int           // minimum bytes per second after Timeout; 0 means defaultMinRate
}

// Defaults of HTTPOptions. After Timeout, the server closes the connection of a client that sends or
// reads fewer than MinRate bytes per second.
const (
	defaultTimeout = 10 * time.Second
	defaultMinRate = 1 << 16
)

// Limits of HTTP: bytes of a request's header, idle time unless --idle-timeout is set, and
// discarded bytes of a body that is too long. The body is discarded so that the client reads the
// response.
const (
	maxHTTPHeader = 1 << 14
	headerSlack   = 1 << 12 // bytes that net/http reads beyond its limit
	httpIdle      = 2 * time.Minute
	maxDiscarded  = 64 << 20
)

// gateway serves HTTP. Each connection is a session, and each request that runs a method is a call, so that
// the limits and scheduling of JSON-RPC apply.
type gateway struct {
	server   *Server
	options  HTTPOptions
	endpoint *http.ServeMux
}

// ServeHTTP serves HTTP on l until ctx ends or l fails. It returns when accepted requests are
// complete, or cancelled by Drain.
func (s *Server) ServeHTTP(ctx context.Context, l net.Listener, o HTTPOptions) error {
	o.Timeout, o.MinRate = cmp.Or(o.Timeout, defaultTimeout), cmp.Or(o.MinRate, defaultMinRate)
	g := &gateway{server: s, options: o}
	g.endpoint = g.endpoints()
	h := &http.Server{Handler: g, ReadHeaderTimeout: o.Timeout, ReadTimeout: o.Timeout, WriteTimeout: o.Timeout,
		IdleTimeout: cmp.Or(s.options.IdleTimeout, httpIdle), MaxHeaderBytes: maxHTTPHeader - headerSlack,
		DisableGeneralOptionsHandler: true,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, webConnKey{}, c)
		},
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug)}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		h.Shutdown(context.Background())
	})
	err := h.Serve(&webListener{Listener: l, ctx: ctx, gateway: g})
	if stop() { // true: ctx has not ended, so l failed
		h.Shutdown(context.Background())
		return err
	}
	<-closed
	return nil
}

// ServeHTTP handles one request.
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{gateway: g, conn: r.Context().Value(webConnKey{}).(*webConn), w: w, r: r,
		control: http.NewResponseController(w), received: time.Now()}
	x.conn.beginRequest(w)
	defer x.conn.endRequest()
	x.identify()
	defer x.log()
	refused := x.checkHost()
	if refused == nil {
		if x.allowOrigin() {
			return
		}
		refused = g.checkToken(r)
	}
	if refused != nil {
		w.Header().Set("Connection", "close")
		x.refuse(refused)
		return
	}
	if g.hasValidToken(r) { // an unauthorised request must not keep a connection's slot
		x.authorised = true
		x.conn.session.activity.note()
		defer x.conn.session.activity.note()
	}
	// The mux would respond with a redirect or plain text.
	if p := r.URL.Path; r.Method == http.MethodConnect || !strings.HasPrefix(p, "/") || path.Clean(p) != p {
		x.unknown()
		return
	}
	g.endpoint.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
}

// exchangeKey is the context key of a request's exchange.
type exchangeKey struct{}

// handler returns an HTTP handler that calls handle with the request's exchange.
func (g *gateway) handler(handle func(*exchange)) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		x := r.Context().Value(exchangeKey{}).(*exchange)
		x.r = r // has the path values set by the mux
		handle(x)
	}
}

// checkHost returns the error for a Host header that [isLocalHost] rejects, or nil. A server with tokens
// accepts any host, and so does a Unix socket, which no page can reach. The check prevents DNS rebinding: a
// page's domain could resolve to this machine, and the page would then have the server's origin.
func (x *exchange) checkHost() *webError {
	if x.gateway.options.Tokens != nil || isLocalHost(x.r.Host) || x.conn.RemoteAddr().Network() == "unix" {
		return nil
	}
	return webFailure(http.StatusMisdirectedRequest, "", "",
		"Host %q: expected localhost or an IP address; other names need a server with --http-token, "+
			"or a proxy that sets Host: localhost", short(x.r.Host))
}

// checkToken returns the error for a request without a valid token, or nil. Health probes need no
// token.
func (g *gateway) checkToken(r *http.Request) *webError {
	if g.hasValidToken(r) || isHealth(r.URL.Path) {
		return nil
	}
	found := "no Authorization header"
	if r.Header.Get("Authorization") != "" {
		found = "another Authorization header"
	}
	e := webFailure(http.StatusUnauthorized, "", "invalid_api_key",
		`expected the header "Authorization: Bearer TOKEN" with a token of the server's --http-token, found %s`, found)
	e.challenge = true
	return e
}

// isLocalHost reports whether the host in a Host header is an IP address, localhost or empty.
func isLocalHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || host == "" || strings.EqualFold(host, "localhost")
}

// maxShort is the maximum number of bytes of client text that an error or log line quotes.
const maxShort = 80

// short returns the first maxShort bytes of text.
func short(text string) string { return text[:min(len(text), maxShort)] }

// webListener is a listener that makes each connection a session.
type webListener struct {
	net.Listener
	ctx     context.Context
	gateway *gateway
}

// Accept returns the next connection that gets a slot. It refuses connections while no slot is free.
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
		switch admitted, limitFlag := s.admit(c.session); {
		case admitted:
			c.watchSession()
			return c, nil
		case limitFlag != "":
			go c.turnAway(limitFlag)
		default:
			conn.Close()
		}
	}
}

// turnAway refuses a connection for which no slot is free. It waits for the first bytes of a
// request and responds with 429, because a response before the request confuses clients. Above
// maxRefusing concurrent refusals it resets a TCP connection, because some clients reconnect
// endlessly if it closes silently, and closes other connections.
func (c *webConn) turnAway(flag string) {
	s := c.session.server
	defer c.Conn.Close()
	defer c.session.end(errSessionOver)
	s.metrics.countRefusal(codeBusy)
	refusing := s.refusals.Add(1)
	defer s.refusals.Add(-1)
	if refusing > maxRefusing {
		if tcp, ok := c.Conn.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
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
