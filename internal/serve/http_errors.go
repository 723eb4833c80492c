package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// webError is an error in OpenAI's format, with its HTTP status.
type webError struct {
	status    int
	message   string
	kind      string // error type, such as kindRequest
	param     string // the field at fault, or ""
	name      string // name of the error, or ""
	retry     int    // milliseconds after which to retry; 0 omits the headers
	challenge bool   // a valid token is missing
	allow     string // value of the header Allow if the method is not allowed
}

// Error types.
const (
	kindRequest = "invalid_request_error"
	kindBusy    = "rate_limit_error"
	kindServer  = "server_error"
)

func webFailure(status int, param, name, format string, args ...any) *webError {
	return &webError{status: status, kind: kindRequest, param: param, name: name, message: fmt.Sprintf(format, args...)}
}

// statuses maps error codes of JSON-RPC to HTTP statuses. All other codes have status 500.
var statuses = map[int]int{
	codeParse:          http.StatusBadRequest,
	codeInvalidRequest: http.StatusBadRequest,
	codeParams:         http.StatusBadRequest,
	codeNoMethod:       http.StatusNotFound,
	codeNoModel:        http.StatusNotFound,
	codeBusy:           http.StatusTooManyRequests,
	codeCancelled:      statusClientClosed,
	codeStopped:        http.StatusServiceUnavailable,
}

// statusClientClosed is the customary status for a client that disconnected before its response.
const statusClientClosed = 499

// codeNoModel occurs only over HTTP, since requests of JSON-RPC do not name a model.
const codeNoModel = -32001

// pathNames returns the replacer that rewrites a message for HTTP. Method names become paths. Advice to
// use documents is replaced or removed, because only JSON-RPC has documents.
var pathNames = sync.OnceValue(func() *strings.Replacer {
	pairs := []string{openAdvice, "documents exist only in JSON-RPC: pass text, tokens or bytes"}
	for _, suffix := range []string{"", "_a", "_b"} {
		pairs = append(pairs, ", bytes"+suffix+" or uri"+suffix+", found", " or bytes"+suffix+", found")
	}
	for name := range methods {
		pairs = append(pairs, name, "/"+path.Base(name))
	}
	return strings.NewReplacer(pairs...)
})

// asWebError converts an error of JSON-RPC to an error of HTTP.
func asWebError(e *Error) *webError {
	out := &webError{status: http.StatusInternalServerError, kind: kindServer, message: pathNames().Replace(e.Message)}
	if status, ok := statuses[e.Code]; ok {
		out.status = status
	}
	var data struct {
		Field   string `json:"field"`
		Longest *int   `json:"longest"`
		After   int    `json:"retryAfterMilliseconds"`
	}
	json.Unmarshal(e.Data, &data) // the data is missing or was encoded by this server
	out.param, out.retry = data.Field, data.After
	if out.param == wholeParams { // the params of JSON-RPC are the body of HTTP
		out.param = "body"
		if rest, ok := strings.CutPrefix(out.message, wholeParams+": "); ok {
			out.message = "body: " + rest
		}
	}
	switch {
	case e.Code == codeBusy:
		out.kind, out.name = kindBusy, "rate_limit_exceeded"
	case e.Code == codeStopped:
		out.retry = reopening
	case out.status < http.StatusInternalServerError:
		out.kind = kindRequest
	}
	switch {
	case data.Longest != nil:
		out.name = "context_length_exceeded"
	case e.Code == codeNoModel:
		out.name = "model_not_found"
	}
	return out
}

// webErrorBody is the body of an error in OpenAI's format.
type webErrorBody struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	} `json:"error"`
}

// body returns the JSON body of the error.
func (e *webError) body() []byte {
	var out webErrorBody
	out.Error.Message, out.Error.Type = strings.ToValidUTF8(e.message, "\ufffd"), e.kind
	if e.param != "" {
		out.Error.Param = &e.param
	}
	if e.name != "" {
		out.Error.Code = &e.name
	}
	text, _ := json.Marshal(out) // strings cannot fail to encode
	return text
}

// setHeaders sets the headers of an error response.
func (e *webError) setHeaders(h http.Header) {
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	if e.retry > 0 {
		setRetryAfter(h, e.retry)
	}
	if e.challenge {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if e.allow != "" {
		h.Set("Allow", e.allow)
	}
}

// setRetryAfter sets the headers with the time after which a client may retry.
func setRetryAfter(h http.Header, milliseconds int) {
	h.Set("Retry-After", strconv.Itoa((milliseconds+999)/1000)) // seconds, rounded up
	h.Set("Retry-After-Ms", strconv.Itoa(milliseconds))
}

// response returns the error as a complete HTTP response with the id of the request. The response
// announces that the connection closes.
func (e *webError) response(id string) []byte {
	body := e.body()
	r := http.Response{StatusCode: e.status, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Close: true,
		ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body))}
	e.setHeaders(r.Header)
	r.Header.Set(requestIDHeader, id)
	r.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	var out bytes.Buffer
	r.Write(&out) // writing to memory cannot fail
	return out.Bytes()
}
