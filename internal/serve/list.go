package serve

import (
	"bytes"
	"encoding/json"

	"sftseq/internal/jsonlines"
)

// elements calls f with each element of a list, in its order, until f returns an
// error. It cuts off one after the other: a list of many short ones, cut at once,
// takes a hundred times its text.
func elements(field string, list json.RawMessage, f func(n int, element json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(list))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return badParam(field, "expected a list, found %s", jsonlines.Kind(list))
	}
	for n := 0; d.More(); n++ {
		if n == maxMany {
			return badParam(field, "expected at most %d, found more", maxMany)
		}
		var element json.RawMessage
		if err := d.Decode(&element); err != nil {
			return badParam(field, "%v", err)
		}
		if err := f(n, element); err != nil {
			return err
		}
	}
	return nil
}

// elementBytes is what an element of a list takes, beside its text.
const elementBytes = 64
