package serve

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// logAccess writes a line of the access log if --access-log is set: attrs, the seconds since the
// request was received, the number of tokens computed for the request, its client and its id.
func (s *Server) logAccess(received time.Time, tokens int, client, id string, attrs ...slog.Attr) {
	if !s.options.AccessLog {
		return
	}
	s.log.LogAttrs(context.Background(), slog.LevelInfo, "request", append(attrs,
		slog.Float64("seconds", time.Since(received).Seconds()), slog.Int("tokens", tokens),
		slog.String("client", client), slog.String("request_id", id))...)
}

// recordResponse counts a response and writes it to the access log. code is 0 for a result.
func (s *session) recordResponse(method string, id json.RawMessage, code, tokens int, received time.Time,
	compute time.Duration) {
	s.server.metrics.countResponse(method, code, time.Since(received), compute)
	s.logResponse(method, id, code, tokens, received)
}

// logResponse writes a JSON-RPC response, or the response to a bare line, to the access log.
func (s *session) logResponse(method string, id json.RawMessage, code, tokens int, received time.Time) {
	s.server.logAccess(received, tokens, s.name, short(string(id)), slog.String("method", short(method)),
		slog.Int("code", code))
}

// log writes the request to the access log. Behind a proxy, client is the proxy's address, and
// forwarded_for ends with the client's address, which the proxy has added.
func (x *exchange) log() {
	attrs := []slog.Attr{slog.String("method", short(x.r.Method)), slog.String("path", short(x.r.URL.Path)),
		slog.Int("status", x.status)}
	if forwarded := forwardedFor(x.r.Header); forwarded != "" {
		attrs = append(attrs, slog.String("forwarded_for", forwarded))
	}
	if x.trace.valid() {
		attrs = append(attrs, slog.String("trace_id", x.trace.id), slog.String("span_id", x.trace.span))
	}
	x.conn.session.server.logAccess(x.received, x.tokens, x.conn.client(), x.id, attrs...)
}

// forwardedFor returns the last maxShort bytes of the X-Forwarded-For headers. A proxy appends its
// client's address, so a forged prefix cannot displace the appended address.
func forwardedFor(h http.Header) string {
	addresses := strings.Join(h.Values("X-Forwarded-For"), ", ")
	return addresses[max(0, len(addresses)-maxShort):]
}
