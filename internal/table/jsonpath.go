package table

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// A column of JSON is a key, or a path of keys and list indices: doc.body, messages[0].content or
// messages.0.content. Index -1 is the last element. At every step, a key equal to the rest of the
// path, including dots, takes precedence over a path.

// cutPath splits off the first step of a path. more reports whether steps follow.
func cutPath(path string) (step, rest string, more bool) {
	if inner, ok := strings.CutPrefix(path, "["); ok {
		if step, rest, ok = strings.Cut(inner, "]"); ok {
			after, dot := strings.CutPrefix(rest, ".")
			return "[" + step + "]", after, dot || rest != ""
		}
		return path, "", false
	}
	at := strings.IndexAny(path, ".[")
	switch {
	case at < 0:
		return path, "", false
	case path[at] == '[':
		return path[:at], path[at:], true
	}
	return path[:at], path[at+1:], true
}

// pathKeys returns the keys of an object with which a path may begin.
func pathKeys(path string) []string {
	step, _, more := cutPath(path)
	if !more {
		return []string{path}
	}
	return []string{path, step}
}

// lookUp returns the value at a path in an object with the given fields, or nil if it does not
// exist.
func lookUp(fields map[string]json.RawMessage, path string) (json.RawMessage, error) {
	if value := fields[path]; value != nil {
		return value, nil
	}
	step, rest, more := cutPath(path)
	if !more || fields[step] == nil {
		return nil, nil
	}
	return lookUpIn(fields[step], rest)
}

// lookUpIn returns the value at a path in an object or a list, or nil if it does not exist.
func lookUpIn(value json.RawMessage, path string) (json.RawMessage, error) {
	switch value[0] {
	case '{':
		keys := map[string]bool{}
		for _, key := range pathKeys(path) {
			keys[key] = true
		}
		fields, err := jsonlines.Fields(value, keys)
		if err != nil {
			return nil, err
		}
		return lookUp(fields, path)
	case '[':
		step, rest, more := cutPath(path)
		at, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(step, "["), "]"))
		if err != nil {
			return nil, nil // a key, which a list cannot have
		}
		if at < 0 {
			for range jsonlines.Elements(value) {
				at++
			}
		}
		found := element(value, at)
		if found == nil || !more {
			return found, nil
		}
		return lookUpIn(found, rest)
	}
	return nil, nil
}

// element returns the element of a list at an index, or nil. It keeps only that element, because a
// slice of all elements takes many times the memory of the text.
func element(list json.RawMessage, at int) json.RawMessage {
	n := 0
	for e := range jsonlines.Elements(list) {
		if n == at {
			return e
		}
		n++
	}
	return nil
}

// maxSteps is the maximum depth of [paths].
const maxSteps = 3

// paths returns the paths of an object's values that may be columns, in random order.
func paths(object []byte, prefix string, steps int) (out []string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return nil
	}
	for key, value := range fields {
		key = prefix + key
		if steps < maxSteps && value[0] == '{' {
			if inner := paths(value, key+".", steps+1); inner != nil {
				out = append(out, inner...)
				continue
			}
		}
		if steps < maxSteps && value[0] == '[' {
			if first := element(value, 0); first != nil && first[0] == '{' {
				out = append(out, paths(first, key+"[0].", steps+1)...)
				continue
			}
		}
		out = append(out, key)
	}
	return out
}
