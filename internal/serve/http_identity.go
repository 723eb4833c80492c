package serve

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"regexp"
	"strings"
)

// Headers that identify a request, from the client and back to it.
const (
	requestIDHeader   = "X-Request-Id"
	traceParentHeader = "Traceparent"
)

// usableID matches the request ids that the server takes over: short, and harmless in a log.
var usableID = regexp.MustCompile(`^[A-Za-z0-9._:/+=@-]{1,128}$`)

// requestID returns the id of a request: the client's, or a new one if the client has sent none that can be used.
func requestID(h http.Header) string {
	if id := h.Get(requestIDHeader); usableID.MatchString(id) {
		return id
	}
	return rand.Text()
}

// trace is the part of a distributed trace (W3C Trace Context) that a request is.
type trace struct {
	id    string // 32 hexadecimal digits, "" without a trace
	span  string // 16 digits, the server's own
	flags string
}

// traceParent matches a header of version 00, and what later versions have in common with it.
var traceParent = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$`)

// traceOf continues the trace of a request by a span of the server. The standard has a malformed header be ignored.
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

// identify gives the request its id and its span, which the response repeats.
func (x *exchange) identify() {
	x.id, x.trace = requestID(x.r.Header), traceOf(x.r.Header)
	x.w.Header().Set(requestIDHeader, x.id)
	if x.trace.valid() {
		x.w.Header().Set(traceParentHeader, "00-"+x.trace.id+"-"+x.trace.span+"-"+x.trace.flags)
	}
}
