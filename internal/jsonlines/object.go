package jsonlines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
)

// Object splits an object of valid JSON into its known fields, which share its memory. A known
// field that occurs twice is an error, returned with the fields before it.
func Object(object json.RawMessage, known map[string]bool) (map[string]json.RawMessage, error) {
	object = bytes.TrimSpace(object)
	if len(object) == 0 || object[0] != '{' {
		return nil, fmt.Errorf("expected a JSON object, found %s", Kind(object))
	}
	fields := map[string]json.RawMessage{}
	for name, value := range Members(object) {
		key := nameOf(name)
		if !known[string(key)] {
			continue
		}
		if fields[string(key)] != nil {
			return fields, fmt.Errorf("the field %s occurs twice", key)
		}
		fields[string(key)] = value
	}
	return fields, nil
}

// nameOf returns the unquoted name of a member.
func nameOf(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	return AppendText(nil, quoted)
}

// Members yields the quoted names and the values of an object. It does not check the values. In
// malformed JSON, it ends before the first member whose name or value it cannot delimit.
func Members(object []byte) iter.Seq2[json.RawMessage, json.RawMessage] {
	return func(yield func(name, value json.RawMessage) bool) {
		rest, ok := cutByte(object, '{')
		for ok {
			var name, value []byte
			if rest = skipSpace(rest); len(rest) == 0 || rest[0] != '"' {
				return
			}
			if name, rest, ok = cutValue(rest); !ok {
				return
			}
			if rest, ok = cutByte(rest, ':'); !ok {
				return
			}
			if value, rest, ok = cutValue(rest); !ok || !yield(name, value) {
				return
			}
			rest, ok = cutByte(rest, ',')
		}
	}
}

// Elements yields the elements of a list of valid JSON, which share its memory.
func Elements(list json.RawMessage) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		rest, ok := cutByte(list, '[')
		for ok {
			var value []byte
			if value, rest, ok = cutValue(rest); !ok || !yield(value) {
				return
			}
			rest, ok = cutByte(rest, ',')
		}
	}
}

// cutByte removes b from the beginning of a text, after white space.
func cutByte(text []byte, b byte) (rest []byte, ok bool) {
	if text = skipSpace(text); len(text) == 0 || text[0] != b {
		return text, false
	}
	return text[1:], true
}

// cutValue splits a value off the beginning of a text. It returns false if the value is empty, or if
// no byte of the text shows where the value ends.
func cutValue(text []byte) (value, rest []byte, ok bool) {
	text = skipSpace(text)
	depth := 0
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			n := stringEnd(text[at:])
			if at += n - 1; n == 0 {
				return nil, text, false
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth--; depth < 0 { // end of the enclosing value
				return text[:at], text[at:], at > 0
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return text[:at], text[at:], at > 0
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return text[:at+1], text[at+1:], true
		}
	}
	return nil, text, false
}

// stringEnd returns the length of the string at the beginning of a text, or 0 if the string does
// not end.
func stringEnd(text []byte) int {
	quote := 0 // index of the next quote
	for at := 1; ; {
		if quote < at {
			n := bytes.IndexByte(text[at:], '"')
			if n < 0 {
				return 0
			}
			quote = at + n
		}
		n := bytes.IndexByte(text[at:quote], '\\')
		if n < 0 {
			return quote + 1
		}
		at += n + 2 // skip the escape
	}
}

func skipSpace(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t' || text[0] == '\r' || text[0] == '\n') {
		text = text[1:]
	}
	return text
}
