package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// webError is an error in the shape of OpenAI's interface, with its status.
type webError struct {
	status    int
	message   string
	kind      string // distinguishes errors of the client from those of the server
	param     string // the field at fault, "" where it is none
	name      string // name of the error, or ""
	retry     int    // milliseconds, 0 where there is no use in that
	challenge bool   // a token is missing
	allow     string // methods that the path has, for another one
}

// Kinds of errors.
const (
	kindRequest = "invalid_request_error"
	kindBusy    = "rate_limit_error"
	kindServer  = "server_error"
)

func webFailure(status int, param, name, format string, args ...any) *webError {
	return &webError{status: status, kind: kindRequest, param: param, name: name, message: fmt.Sprintf(format, args...)}
}

// statuses are those of the errors of JSON-RPC; others are 500.
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

// statusClientClosed is what servers call the end of a client that does not wait.
const statusClientClosed = 499

// codeNoModel is an error of HTTP alone: JSON-RPC's requests name no model.
const codeNoModel = -32001

// asWebError is an error of JSON-RPC.
func asWebError(e *Error) *webError {
	out := &webError{status: http.StatusInternalServerError, kind: kindServer, message: e.Message}
	if status, ok := statuses[e.Code]; ok {
		out.status = status
	}
	var data struct {
		Field   string `json:"field"`
		Longest *int   `json:"longest"`
		After   int    `json:"retryAfterMilliseconds"`
	}
	json.Unmarshal(e.Data, &data) // its own
	out.param, out.retry = data.Field, data.After
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

// body is the error as JSON.
func (e *webError) body() []byte {
	var out webErrorBody
	out.Error.Message, out.Error.Type = strings.ToValidUTF8(e.message, "\ufffd"), e.kind
	if e.param != "" {
		out.Error.Param = &e.param
	}
	if e.name != "" {
		out.Error.Code = &e.name
	}
	text, _ := json.Marshal(out) // strings cannot fail
	return text
}

// setHeaders has the headers of an answer that is the error.
func (e *webError) setHeaders(h http.Header) {
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	if e.retry > 0 {
		h.Set("Retry-After", strconv.Itoa((e.retry+999)/1000)) // in seconds
		h.Set("Retry-After-Ms", strconv.Itoa(e.retry))
	}
	if e.challenge {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if e.allow != "" {
		h.Set("Allow", e.allow)
	}
}

// response returns the error as a whole response with the id of the request. The connection is closed after it.
func (e *webError) response(id string) []byte {
	body := e.body()
	r := http.Response{StatusCode: e.status, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Close: true,
		ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body))}
	e.setHeaders(r.Header)
	r.Header.Set(requestIDHeader, id)
	r.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	var out bytes.Buffer
	r.Write(&out) // to memory
	return out.Bytes()
}
