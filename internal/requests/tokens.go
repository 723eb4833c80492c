package requests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"sftseq/sft"
)

// ParseTokens reads a list of token ids from valid JSON. It takes the place of
// the JSON package, which cannot say which element is bad.
func ParseTokens(value json.RawMessage) ([]int32, error) {
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

// ParseLabel reads a class: its number, or its name where the model has names.
func ParseLabel(c *sft.Config, value json.RawMessage) (int32, error) {
	if value == nil {
		return 0, fmt.Errorf("label is missing")
	}
	var name string
	if json.Unmarshal(value, &name) == nil {
		for i, n := range c.LabelNames {
			if n == name {
				return int32(i), nil
			}
		}
		return 0, fmt.Errorf("label: expected a name of the model's %q or a number, found %q", c.LabelNames, name)
	}
	n, err := strconv.ParseInt(string(value), 10, 32)
	if err != nil || n < 0 || int(n) >= c.NumLabels {
		return 0, fmt.Errorf("label: expected 0 to %d, found %s", c.NumLabels-1, Kind(value))
	}
	return int32(n), nil
}
