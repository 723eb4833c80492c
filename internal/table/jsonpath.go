package table

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// A column of JSON is a key, or a path of keys and of places in lists: doc.body,
// messages[0].content or messages.0.content, where -1 is the last place of a list. At
// every step a key that is the whole rest of the path, dots and all, comes before a path.

// cutPath takes the first step off a path. There is more behind it unless it is the last.
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

// pathKeys are the keys of an object that a path may begin with.
func pathKeys(path string) []string {
	step, _, more := cutPath(path)
	if !more {
		return []string{path}
	}
	return []string{path, step}
}

// follow is what a path leads to in an object with these fields; nil if nothing is there.
func follow(fields map[string]json.RawMessage, path string) (json.RawMessage, error) {
	if value := fields[path]; value != nil {
		return value, nil
	}
	step, rest, more := cutPath(path)
	if !more || fields[step] == nil {
		return nil, nil
	}
	return followInto(fields[step], rest)
}

// followInto is what a path leads to in a value.
func followInto(value json.RawMessage, path string) (json.RawMessage, error) {
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
		return follow(fields, path)
	case '[':
		step, rest, more := cutPath(path)
		at, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(step, "["), "]"))
		if err != nil {
			return nil, nil // a key, which a list does not have
		}
		var list []json.RawMessage
		if err := json.Unmarshal(value, &list); err != nil {
			return nil, err
		}
		if at < 0 {
			at += len(list)
		}
		if at < 0 || at >= len(list) || !more {
			if at >= 0 && at < len(list) {
				return list[at], nil
			}
			return nil, nil
		}
		return followInto(list[at], rest)
	}
	return nil, nil
}

// mostSteps is how deep [paths] looks.
const mostSteps = 3

// paths are those to the values of an object that a column may have, in the order of the
// keys, for those who looked for another.
func paths(object []byte, before string, steps int) (out []string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return nil
	}
	for key, value := range fields {
		key = before + key
		if steps < mostSteps && value[0] == '{' {
			if inner := paths(value, key+".", steps+1); inner != nil {
				out = append(out, inner...)
				continue
			}
		}
		if steps < mostSteps && value[0] == '[' {
			var list []json.RawMessage
			if json.Unmarshal(value, &list) == nil && len(list) > 0 && list[0][0] == '{' {
				out = append(out, paths(list[0], key+"[0].", steps+1)...)
				continue
			}
		}
		out = append(out, key)
	}
	return out
}
