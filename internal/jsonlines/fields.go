package jsonlines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// NotJSON is the error of a line that is not JSON.
type NotJSON struct{ err error }

func (e *NotJSON) Error() string { return e.err.Error() }

func (e *NotJSON) Unwrap() error { return e.err }

// malformed returns the error of a line that is not JSON. at is the index of the first wrong byte,
// counted from 1.
func malformed(at int, cause error) error {
	return &NotJSON{fmt.Errorf("malformed JSON at byte %d: %w", at, cause)}
}

// ErrNotUTF8 is the cause of an error for text that is not UTF-8. For a line, [Fields] returns it as the
// cause of a [*NotJSON].
var ErrNotUTF8 = errors.New("not UTF-8")

// Fields is like [Object], for untrusted input. If the line is not JSON, the error is a [*NotJSON].
func Fields(line []byte, known map[string]bool) (map[string]json.RawMessage, error) {
	if !utf8.Valid(line) {
		at := 0
		for {
			r, n := utf8.DecodeRune(line[at:])
			if r == utf8.RuneError && n == 1 {
				return nil, malformed(at+1, ErrNotUTF8)
			}
			at += n
		}
	}
	if !json.Valid(line) {
		err := json.Unmarshal(line, new(json.RawMessage))
		at := len(line)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = int(syntax.Offset)
		}
		return nil, malformed(at, err)
	}
	return Object(line, known)
}

// Tokens reads a list of token ids from valid JSON. Unlike package encoding/json, it refuses null, and the
// error for an invalid element names its index.
func Tokens(value json.RawMessage) ([]int32, error) {
	if value[0] != '[' {
		return nil, fmt.Errorf("expected a list of token ids, found %s", Kind(value))
	}
	body := bytes.TrimSpace(value[1 : len(value)-1])
	if len(body) == 0 {
		return nil, nil
	}
	tokens := make([]int32, 0, bytes.Count(body, []byte(","))+1)
	for more := true; more; {
		var item []byte
		item, body, more = bytes.Cut(body, []byte(","))
		item = bytes.TrimSpace(item)
		id, err := strconv.ParseInt(string(item), 10, 64)
		if err != nil || id < 0 || id > math.MaxInt32 {
			return nil, fmt.Errorf("index %d: expected a token id (a plain integer from 0 to %d), found %s",
				len(tokens), math.MaxInt32, Kind(item))
		}
		tokens = append(tokens, int32(id))
	}
	return tokens, nil
}

// Shorten returns text for an error. It cuts a text of more than maxChars characters and marks the cut with "…".
func Shorten(text string, maxChars int) string {
	chars := 0
	for i := range text {
		if chars == maxChars {
			return text[:i] + "…"
		}
		chars++
	}
	return text
}

// Kind describes a JSON value for an error. The text of the value may be incomplete.
func Kind(value []byte) string {
	if len(value) == 0 {
		return "nothing"
	}
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	}
	const maxBytes = 30
	if len(value) > maxBytes {
		return string(bytes.ToValidUTF8(value[:maxBytes], nil)) + "…"
	}
	return string(value)
}
