package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/creachadair/jrpc2"

	"sftseq/internal/requests"
)

// Codes of errors, as JSON-RPC 2.0 and LSP 3.17 define them.
const (
	codeParse          jrpc2.Code = requests.CodeParse
	codeInvalidRequest jrpc2.Code = requests.CodeRequest
	codeNoMethod       jrpc2.Code = -32601
	codeParams         jrpc2.Code = requests.CodeParams
	codeInternal       jrpc2.Code = requests.CodeInternal
	codeBusy           jrpc2.Code = -32000 // try again later
	codeNotInitialized jrpc2.Code = -32002
	codeCancelled      jrpc2.Code = -32800 // by the client
	codeModified       jrpc2.Code = -32801 // the document changed meanwhile
	codeStopped        jrpc2.Code = -32802 // cancelled by the server
	codeFailed         jrpc2.Code = -32803 // all was well, but it could not be done
)

// Why a context of this package ends.
var (
	errCancelled = &jrpc2.Error{Code: codeCancelled, Message: "cancelled by the client"}
	errModified  = &jrpc2.Error{Code: codeModified, Message: "the document changed meanwhile"}
	errStopped   = &jrpc2.Error{Code: codeStopped, Message: "the server is stopping"}
)

// errSessionOver is why the work of a session ends whose client is gone.
var errSessionOver = errors.New("the session is over")

// place says where an error is: the data of most.
type place struct {
	Field string `json:"field,omitempty"` // a path in params, such as sequences[3].tokens
	Line  int    `json:"line,omitempty"`  // of the stream, from 1
	Found string `json:"found,omitempty"`
}

// retry is the data of an error that will pass.
type retry struct {
	After int `json:"retryAfterMilliseconds"`
}

func fail(code jrpc2.Code, data any, format string, args ...any) *jrpc2.Error {
	return (&jrpc2.Error{Code: code, Message: fmt.Sprintf(format, args...)}).WithData(data)
}

// badParam is what is wrong with a field of params.
func badParam(field, format string, args ...any) *jrpc2.Error {
	return fail(codeParams, place{Field: field}, "%s: %s", field, fmt.Sprintf(format, args...))
}

// asError is any error as a reply has it.
func asError(err error) *jrpc2.Error {
	var e *jrpc2.Error
	var f *requests.Failure
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &f):
		return fail(jrpc2.Code(f.Code), nil, "%s", f.Message)
	case errors.Is(err, context.Canceled), errors.Is(err, errSessionOver):
		return errStopped
	}
	return fail(codeFailed, nil, "%v", err)
}

// unmarshal reads a field of params.
func unmarshal(field string, value json.RawMessage, into any, expected string) error {
	if err := json.Unmarshal(value, into); err != nil {
		return badParam(field, "expected %s, found %s", expected, requests.Kind(value))
	}
	return nil
}
