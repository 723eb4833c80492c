package serve

import (
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/serve/transport"
)

// envelope is the parsed outer part of a JSON-RPC message.
type envelope struct {
	id         json.RawMessage // nil for a notification
	method     string
	params     json.RawMessage // any value, or nil
	response   bool            // a response; the server ignores it because it sends no requests
	notJSONRPC bool            // true if the field jsonrpc is missing
}

var envelopeFields = map[string]bool{"jsonrpc": true, "id": true, "method": true, "params": true,
	"result": true, "error": true}

// maxID is the maximum length of an id in bytes.
const maxID = 256

// keyOf returns the canonical form of an id, so that "a" and "\u0061" have the same key. A number
// and a string differ.
func keyOf(id json.RawMessage) string {
	if id[0] != '"' {
		return string(id)
	}
	return string(jsonlines.AppendText([]byte{'"'}, id))
}

// parseEnvelope parses a JSON-RPC message. On an error, the id and the method are still set if they could be
// parsed, so that the client can match the error to its request.
func parseEnvelope(m transport.Message) (envelope, *Error) {
	var e envelope
	bad := func(code int, format string, args ...any) (envelope, *Error) {
		return e, fail(code, errorLocation{Line: m.Line}, format, args...)
	}
	fields, err := requests.Fields(m.Body, envelopeFields)
	if err != nil {
		var f *requests.Failure
		errors.As(err, &f)
		e = headOf(m.Body)
		return bad(f.Code, "%s", f.Message)
	}
	e.notJSONRPC = fields["jsonrpc"] == nil
	method, err := jsonlines.Text(fields["method"])
	named := err == nil && method != ""
	e.method = method
	if id := fields["id"]; id != nil {
		if !isID(id) {
			return bad(codeInvalidRequest, "id: expected a string or a number of at most %d bytes, found %s",
				maxID, jsonlines.Kind(id))
		}
		e.id = id
	}
	if e.notJSONRPC {
		return bad(codeInvalidRequest, `expected jsonrpc "2.0", or a sequence such as text or tokens, found neither`)
	}
	var version string
	if json.Unmarshal(fields["jsonrpc"], &version) != nil || version != "2.0" {
		return bad(codeInvalidRequest, `jsonrpc: expected "2.0", found %s`, jsonlines.Kind(fields["jsonrpc"]))
	}
	if fields["method"] == nil && (fields["result"] != nil || fields["error"] != nil) {
		e.response = true
		return e, nil
	}
	if !named {
		return bad(codeInvalidRequest, "method: expected a name, found %s", jsonlines.Kind(fields["method"]))
	}
	if p := fields["params"]; string(p) != "null" {
		// The method refuses params that are not an object, after the lifecycle check; a notification gets no
		// response.
		e.params = p
	}
	return e, nil
}

// headOf returns the id and the method of a malformed or truncated message, if they precede the error.
func headOf(text []byte) envelope {
	var e envelope
	for name, value := range jsonlines.Members(text) {
		if !json.Valid(name) || !json.Valid(value) {
			return e
		}
		switch string(jsonlines.AppendText(nil, name)) {
		case "id":
			if e.id == nil && isID(value) && utf8.Valid(value) {
				e.id = value
			}
		case "method":
			if e.method == "" {
				e.method, _ = jsonlines.Text(value) // "" unless it is a string
			}
		}
	}
	return e
}

// isID reports whether a value is a valid id: a string or a number, at most maxID bytes.
func isID(id json.RawMessage) bool {
	return len(id) <= maxID && (id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9')
}

// bareFields are the fields that mark an object without jsonrpc as a bare line.
var bareFields = map[string]bool{"text": true, "tokens": true, "text_a": true, "tokens_a": true, "text_b": true,
	"tokens_b": true, featuresField: true}

// hasSequence reports whether a line is an object with a sequence.
func hasSequence(line []byte) bool {
	fields, _ := requests.Fields(line, bareFields)
	return len(fields) > 0
}
