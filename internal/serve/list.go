package serve

import (
	"encoding/json"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// elements calls f with each element of a list, in its order, until f returns an
// error. Each is a part of the list: a list of many short ones,
// kept as values, takes a hundred times its text.
func elements(field string, list json.RawMessage, f func(n int, element json.RawMessage) error) error {
	if list[0] != '[' {
		return badParam(field, "expected a list, found %s", jsonlines.Kind(list))
	}
	n := 0
	for element := range jsonlines.Elements(list) {
		if n == maxMany {
			return badParam(field, "expected at most %d, found more", maxMany)
		}
		if err := f(n, element); err != nil {
			return err
		}
		n++
	}
	return nil
}

// elementBytes is what is kept of an element of a list.
const elementBytes = 64
