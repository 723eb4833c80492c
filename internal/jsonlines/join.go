package jsonlines

import (
	"bytes"
	"encoding/json"
)

// Join marshals all parts, which must be objects, to one JSON object with their fields in order.
// Package encoding/json can only do so for embedded structs, whose types are fixed.
func Join(parts ...any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	out.WriteByte('{')
	for _, part := range parts {
		before := out.Len()
		if before > 1 {
			out.WriteByte(',')
		}
		at := out.Len()
		if err := encoder.Encode(part); err != nil {
			return nil, err
		}
		fields := bytes.TrimSuffix(out.Bytes()[at+1:], []byte("}\n"))
		if len(fields) == 0 {
			out.Truncate(before)
			continue
		}
		copy(out.Bytes()[at:], fields)
		out.Truncate(at + len(fields))
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
