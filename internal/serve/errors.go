package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/serve/batching"
)

// Error codes of JSON-RPC 2.0 and LSP 3.17.
const (
	codeParse          = requests.CodeParse
	codeInvalidRequest = requests.CodeRequest
	codeNoMethod       = -32601
	codeParams         = requests.CodeParams
	codeInternal       = requests.CodeInternal
	codeBusy           = -32000 // the server's own code: try again later
	codeNotInitialized = -32002
	codeCancelled      = -32800 // cancelled by the client
	codeModified       = -32801 // the document has changed since the request
	codeStopped        = -32802 // cancelled by the server
	codeFailed         = -32803 // the request was valid but failed
)

// Error is the error object of a JSON-RPC response.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return fmt.Sprintf("[%d] %s", e.Code, e.Message) }

// Cancellation causes of contexts in this package.
var (
	errCancelled = &Error{Code: codeCancelled, Message: "cancelled by the client"}
	errStopped   = &Error{Code: codeStopped,
		Message: "the server is stopping: send the request again after its restart"}
)

// errSessionOver is the cancellation cause of a session that has ended.
var errSessionOver = errors.New("the session is over")

// sessionOver returns an error that wraps errSessionOver and states a reason.
func sessionOver(format string, args ...any) error {
	return fmt.Errorf("%w: %w", errSessionOver, fmt.Errorf(format, args...))
}

// errorLocation is the data of most errors: the place of the error and the value found there.
type errorLocation struct {
	Field string `json:"field,omitempty"` // a path in params, such as sequences[3].tokens
	Line  int    `json:"line,omitempty"`  // line in the stream, from 1
	Found string `json:"found,omitempty"`
}

// retryDelay is the data of a temporary error.
type retryDelay struct {
	After int `json:"retryAfterMilliseconds"`
}

// fail returns an error with the given code and data; data may be nil.
func fail(code int, data any, format string, args ...any) *Error {
	e := &Error{Code: code, Message: fmt.Sprintf(format, args...)}
	if data != nil {
		e.Data, _ = json.Marshal(data) // encoded now: the pointed-to values may change
	}
	return e
}

// changedDocument is the data of an error about a changed, closed or broken document.
type changedDocument struct {
	Field   string `json:"field"`
	URI     string `json:"uri"`
	Version *int64 `json:"version,omitempty"` // current version; nil for a closed document
}

// badParam returns the error for an invalid field of the params.
func badParam(field, format string, args ...any) *Error {
	return fail(codeParams, errorLocation{Field: field}, "%s: %s", field, fmt.Sprintf(format, args...))
}

// asError converts an error to the error object of a response.
func asError(err error) *Error {
	var e *Error
	var f *requests.Failure
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &f):
		return fail(f.Code, nil, "%s", f.Message)
	case errors.Is(err, context.Canceled), errors.Is(err, errSessionOver), errors.Is(err, batching.ErrReleased):
		return errStopped
	}
	return fail(codeFailed, nil, "%v", err)
}

// unmarshal decodes a field of the params, or all params. After an error, the valid fields are set.
func unmarshal(field string, value json.RawMessage, into any, expected string) error {
	if text, ok := into.(*string); ok {
		var err error
		if *text, err = jsonlines.Text(value); err != nil {
			return badParam(field, "%v", err)
		}
		return nil
	}
	err := json.Unmarshal(value, into)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &wrong) || wrong.Field == "":
		return badParam(field, "expected %s, found %s", expected, jsonlines.Kind(value))
	case field != wholeParams:
		return badParam(field+"."+wrong.Field, "expected %s, found %s", jsonlines.TypeName(wrong.Type),
			jsonlines.ValueName(wrong.Value))
	}
	return badParam(wrong.Field, "expected %s, found %s", jsonlines.TypeName(wrong.Type),
		jsonlines.ValueName(wrong.Value))
}

// unmarshalKnown decodes an object. Unknown fields are errors, so that a misspelt name is not ignored.
func unmarshalKnown(path string, value json.RawMessage, into any, known ...string) error {
	if err := onlyKnown(path, value, known); err != nil {
		return err
	}
	return unmarshal(path, value, into, "an object")
}

// onlyKnown checks that a value is an object with known fields only.
func onlyKnown(path string, value json.RawMessage, known []string) error {
	if value[0] != '{' {
		return badParam(path, "expected an object, found %s", jsonlines.Kind(value))
	}
	for quoted := range jsonlines.Members(value) {
		name := jsonlines.AppendText(nil, quoted)
		if !slices.Contains(known, string(name)) {
			return badParam(path, "expected %s, found %.40q", strings.Join(known, ", "), name)
		}
	}
	return nil
}

// wholeParams is the name of the params themselves in errors.
const wholeParams = "params"
