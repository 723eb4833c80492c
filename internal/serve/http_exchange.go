package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/serve/transport"
)

// exchange is an HTTP request and its response.
type exchange struct {
	gateway    *gateway
	conn       *webConn
	w          http.ResponseWriter
	r          *http.Request
	control    *http.ResponseController
	received   time.Time
	authorised bool // has a valid token, or the server requires no token

	id     string // request id, repeated in the response and in the access log
	trace  trace
	status int // status of the response
	tokens int // tokens computed by the model
}

// call runs result as a call of the named method and responds with its value or error. The call's params
// are the request's body, or nil without a body.
func (x *exchange) call(method string, result func(*call) (any, error)) {
	s := x.conn.session
	m, refused := x.read()
	if refused != nil {
		x.refuse(refused)
		return
	}
	s.activity.reading.Add(1)
	c := &call{session: s, method: method, params: m.Body, received: x.received, bytes: m.Room}
	err := c.reserve(int64(cap(m.Body)) - m.Room)
	s.server.readingMemory.release(m.Room)
	if err != nil {
		s.activity.reading.Add(-1)
		s.release(c.bytes)
		s.server.metrics.countRefusal(asError(err).Code)
		x.refuse(asWebError(asError(err)))
		return
	}
	c.model = s.server.acquire()
	c.ctx, c.cancel = context.WithCancelCause(s.ctx)
	stopWatching := context.AfterFunc(x.r.Context(), func() { c.cancel(errCancelled) })
	s.mu.Lock()
	s.calls[c] = struct{}{}
	s.mu.Unlock()
	s.activity.reading.Add(-1)
	value, err := c.encodeResult(func() (any, error) { return x.checkedResult(c, result) })
	if err != nil {
		e := asError(err)
		c.code = e.Code
		web := asWebError(e)
		if e.Code == codeBusy && c.model.failed.Load() {
			web.status, web.kind, web.name = http.StatusServiceUnavailable, kindServer, ""
		}
		x.refuse(web)
	} else {
		x.write(http.StatusOK, "application/json", value)
	}
	x.tokens = c.tokens
	stopWatching()
	c.cancel(nil)
	s.mu.Lock()
	delete(s.calls, c)
	s.mu.Unlock()
	s.release(c.bytes)
	s.server.metrics.countResponse(method, c.code, time.Since(c.received), c.compute)
	c.model.Done()
}

// checkedResult checks that the call's params, if any, are a JSON object, and returns the call's result.
func (x *exchange) checkedResult(c *call, result func(*call) (any, error)) (any, error) {
	if c.params == nil {
		return result(c)
	}
	c.params = bytes.TrimSpace(c.params)
	var bad error
	if stopped := c.do(len(c.params), func() { bad = checkObject(c.params) }); stopped != nil {
		bad = stopped
	}
	if bad != nil {
		return nil, bad
	}
	return result(c)
}

// checkObject checks that a body is a JSON object. The methods rely on this check when they split the
// body.
func checkObject(body json.RawMessage) error {
	_, err := jsonlines.Fields(body, nil)
	var syntax *jsonlines.NotJSON
	switch {
	case errors.As(err, &syntax):
		return fail(codeParse, nil, "%v", err)
	case err != nil:
		return fail(codeInvalidRequest, nil, "%v", err)
	}
	return nil
}

// read checks the headers of a POST request and reads its body. It refuses a GET or HEAD request with
// a body.
func (x *exchange) read() (m transport.Message, refused *webError) {
	limit := x.conn.session.server.options.MaxLine
	switch {
	case x.r.Method == http.MethodGet || x.r.Method == http.MethodHead:
		if x.r.ContentLength != 0 {
			return m, webFailure(http.StatusBadRequest, "", "", "%s: expected no body", short(x.r.URL.Path))
		}
		x.markHeard()
		return m, x.endOfBody(m)
	case !isJSON(x.r.Header.Get("Content-Type")):
		// Browsers let a page of any site send text/plain and forms without a preflight request.
		return m, webFailure(http.StatusUnsupportedMediaType, "", "",
			"header Content-Type: expected application/json, found %s", x.header("Content-Type"))
	case !strings.EqualFold(cmp.Or(x.r.Header.Get("Content-Encoding"), identity), identity):
		return m, webFailure(http.StatusUnsupportedMediaType, "", "",
			"header Content-Encoding: expected none, found %s",
			x.header("Content-Encoding"))
	case x.r.ContentLength > int64(limit) && x.r.Header.Get("Expect") != "":
		return m, x.tooLong(limit) // the client waits for 100 Continue before it sends the body
	}
	x.markHeard()
	m, whole, err := transport.ReadBody(&pacedBody{exchange: x}, x.r.ContentLength, limit, maxDiscarded, x.conn.session)
	if !whole {
		x.w.Header().Set("Connection", "close")
	}
	var long *jsonlines.TooLong
	var none *jsonlines.NoRoom
	switch {
	case errors.As(m.Err, &long):
		return m, x.tooLong(limit)
	case errors.As(m.Err, &none):
		e := x.conn.session.server.noMemoryForMessage(max(none.Bytes, x.r.ContentLength))
		x.conn.session.server.metrics.countRefusal(e.Code)
		refused := asWebError(e)
		if e.Code == codeParams {
			refused.status = http.StatusRequestEntityTooLarge
		}
		return m, refused
	case x.conn.isLastResponse():
		x.conn.session.TakeBack(m.Room)
		return m, asWebError(errStopped)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return m, webFailure(http.StatusRequestTimeout, "", "",
			"the body arrived too slowly: expected at least %d bytes per second", x.gateway.options.MinRate)
	case err != nil:
		return m, webFailure(http.StatusBadRequest, "", "", "the body could not be read: %v", err)
	case len(m.Body) == 0:
		x.conn.session.TakeBack(m.Room)
		return m, webFailure(http.StatusBadRequest, "", "", "expected a JSON object, found an empty body")
	}
	return m, x.endOfBody(m)
}

// identity is the Content-Encoding of a body that is not encoded.
const identity = "identity"

// markHeard marks the connection as not silent if the request is authorised.
func (x *exchange) markHeard() {
	if x.authorised {
		x.conn.session.activity.heard.Store(true)
	}
}

// endOfBody marks the end of the body. It returns an error if the server drains.
func (x *exchange) endOfBody(m transport.Message) *webError {
	if x.conn.endBody() {
		return nil
	}
	x.conn.session.TakeBack(m.Room)
	return asWebError(errStopped)
}

func (x *exchange) tooLong(limit int) *webError {
	return webFailure(http.StatusRequestEntityTooLarge, "", "",
		"the body is longer than the %d bytes of --max-line", limit)
}

// header describes the value of a request's header for an error.
func (x *exchange) header(name string) string {
	if value := x.r.Header.Get(name); value != "" {
		return strconv.Quote(short(value))
	}
	return "none"
}

// isJSON reports whether a Content-Type is JSON in UTF-8.
func isJSON(kind string) bool {
	t, p, err := mime.ParseMediaType(kind)
	return err == nil && t == "application/json" && (p["charset"] == "" || transport.IsUTF8(p["charset"]))
}

// timeLimit returns the maximum time to send or read a number of bytes.
func (x *exchange) timeLimit(bytes int) time.Duration {
	return x.gateway.options.Timeout + time.Duration(bytes)*time.Second/time.Duration(x.gateway.options.MinRate)
}

// pacedBody reads a request's body. Its deadline moves with the number of bytes received.
type pacedBody struct {
	exchange *exchange
	n        int // bytes received
}

func (p *pacedBody) Read(b []byte) (int, error) {
	p.exchange.conn.setBodyDeadline(p.exchange.received.Add(p.exchange.timeLimit(p.n)))
	n, err := p.exchange.r.Body.Read(b)
	p.n += n
	if n > 0 && p.exchange.authorised { // a connection is not idle while a body arrives
		p.exchange.conn.session.activity.note()
	}
	return n, err
}

// refuse responds with an error.
func (x *exchange) refuse(e *webError) {
	e.setHeaders(x.w.Header())
	x.write(e.status, "application/json", e.body())
}

// write writes the response. It closes the connection if the client does not read at the required
// rate.
func (x *exchange) write(status int, kind string, body []byte) {
	x.status = status
	h := x.w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	if x.conn.isLastResponse() || x.conn.session.server.leaving.Load() {
		h.Set("Connection", "close")
	}
	x.conn.session.server.metrics.responses.WithLabelValues(strconv.Itoa(status)).Inc()
	x.conn.SetWriteDeadline(time.Now().Add(x.timeLimit(len(body))))
	defer x.conn.SetWriteDeadline(time.Time{})
	x.w.WriteHeader(status)
	if x.r.Method != http.MethodHead {
		if _, err := x.conn.session.out.Write(body); err != nil {
			x.conn.session.log.Debug("writing", "error", err)
			return
		}
	}
	x.control.Flush()
}
