package serve

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"regexp"
	"strings"
)

// Headers that identify a request and its response.
const (
	requestIDHeader   = "X-Request-Id"
	traceParentHeader = "Traceparent"
)

// safeRequestID matches request ids that are safe to repeat: short, without characters that corrupt a
// log.
var safeRequestID = regexp.MustCompile(`^[A-Za-z0-9._:/+=@-]{1,128}$`)

// requestID returns the client's request id, or a new one if it is missing or unusable.
func requestID(h http.Header) string {
	if id := h.Get(requestIDHeader); safeRequestID.MatchString(id) {
		return id
	}
	return rand.Text()
}

// trace is the request's span in a distributed trace (W3C Trace Context).
type trace struct {
	id    string // 32 hexadecimal digits; "" without a trace
	span  string // 16 hexadecimal digits of the server's span
	flags string
}

// traceParent matches the four fields of version 00, and any further fields of a later version.
var traceParent = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$`)

// traceOf returns a new span in the client's trace, or the zero trace if the header is missing or
// malformed.
func traceOf(h http.Header) trace {
	m := traceParent.FindStringSubmatch(h.Get(traceParentHeader))
	if m == nil || m[1] == "ff" || m[1] == "00" && m[5] != "" || strings.Trim(m[2], "0") == "" ||
		strings.Trim(m[3], "0") == "" {
		return trace{}
	}
	span := make([]byte, 8)
	rand.Read(span)
	return trace{id: m[2], span: hex.EncodeToString(span), flags: m[4]}
}

func (t trace) valid() bool { return t.id != "" }

// identify sets the request's id and span, and the response headers that repeat them.
func (x *exchange) identify() {
	x.id, x.trace = requestID(x.r.Header), traceOf(x.r.Header)
	x.w.Header().Set(requestIDHeader, x.id)
	if x.trace.valid() {
		x.w.Header().Set(traceParentHeader, "00-"+x.trace.id+"-"+x.trace.span+"-"+x.trace.flags)
	}
}
