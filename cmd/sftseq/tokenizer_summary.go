package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxTokenizerJSON is the length in bytes up to which a tokenizer's JSON is shown unchanged.
const maxTokenizerJSON = 200

// summary shortens a tokenizer's JSON for display: it replaces long values, such as a vocabulary, with
// their sizes. --json prints the full JSON.
func summary(spec json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if len(spec) <= maxTokenizerJSON || json.Unmarshal(spec, &fields) != nil {
		return spec
	}
	out := []byte(`{"type":`)
	out = append(out, fields["type"]...)
	delete(fields, "type")
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		out = append(append(append(out, ','), quoted(name)...), ':')
		out = append(out, shortValue(fields[name])...)
	}
	return append(out, '}')
}

// shortValue returns a JSON value, or a summary if it is long.
func shortValue(value json.RawMessage) []byte {
	const maxBytes, maxExamples = 70, 3
	var list []json.RawMessage
	var object map[string]json.RawMessage
	switch {
	case len(value) <= maxBytes:
		return value
	case json.Unmarshal(value, &list) == nil:
		var first []string
		for _, v := range list[:min(len(list), maxExamples)] {
			first = append(first, fmt.Sprintf("%.20s", bytes.Trim(v, `"`)))
		}
		return quoted(fmt.Sprintf("%d items, starting with %s", len(list), strings.Join(first, ", ")))
	case json.Unmarshal(value, &object) == nil && len(object) == 1:
		return quoted("1 entry")
	case json.Unmarshal(value, &object) == nil:
		return quoted(fmt.Sprintf("%d entries", len(object)))
	}
	return quoted(fmt.Sprintf("%d bytes", len(value)))
}

// quoted returns a text as a JSON string, without invalid UTF-8.
func quoted(text string) []byte {
	out, err := json.Marshal(strings.ToValidUTF8(text, ""))
	if err != nil { // impossible for a string
		panic(err)
	}
	return out
}
