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

// NotJSON is the error of a line that is no JSON at all.
type NotJSON struct{ message string }

func (e *NotJSON) Error() string { return e.message }

func notJSON(format string, args ...any) error { return &NotJSON{fmt.Sprintf(format, args...)} }

// Fields cuts a JSON object into those of its fields that are known. A known
// one may be there once; where one is there twice, those before it come with the
// error.
func Fields(line []byte, known map[string]bool) (map[string]json.RawMessage, error) {
	if !utf8.Valid(line) {
		at := 0
		for {
			r, n := utf8.DecodeRune(line[at:])
			if r == utf8.RuneError && n == 1 {
				return nil, notJSON("column %d: not UTF-8", at+1)
			}
			at += n
		}
	}
	var whole json.RawMessage
	if err := json.Unmarshal(line, &whole); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, notJSON("column %d: not JSON: %v", syntax.Offset, err)
		}
		return nil, notJSON("not JSON: %v", err)
	}
	d := json.NewDecoder(bytes.NewReader(line))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("expected a JSON object, found %s", Kind(bytes.TrimSpace(line)))
	}
	fields := map[string]json.RawMessage{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, notJSON("not JSON: %v", err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, notJSON("not JSON: %v", err)
		}
		key, _ := name.(string)
		if !known[key] {
			continue
		}
		if fields[key] != nil {
			return fields, fmt.Errorf("the field %s occurs twice", key)
		}
		fields[key] = value
	}
	return fields, nil
}

// Tokens reads a list of token ids from valid JSON. It takes the place of
// the JSON package, which cannot say which element is bad.
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
			return nil, fmt.Errorf("index %d: expected a token id (a plain integer from 0 to %d), found %s", len(tokens), math.MaxInt32, Kind(item))
		}
		tokens = append(tokens, int32(id))
	}
	return tokens, nil
}

// Kind describes a JSON value, or the beginning of one, in an error.
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
	const most = 30
	if len(value) > most {
		return string(bytes.ToValidUTF8(value[:most], nil)) + "…"
	}
	return string(value)
}
