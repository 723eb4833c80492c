package serve

import (
	"encoding/json"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// elements calls f with each element of a list, in order, until f returns an error. A list of more than
// maxElements elements is an error. Elements are slices of the list, because decoded values of many short
// elements would take much more memory.
func elements(field string, list json.RawMessage, f func(n int, element json.RawMessage) error) error {
	if list[0] != '[' {
		return badParam(field, "expected a list, found %s", jsonlines.Kind(list))
	}
	n := 0
	for element := range jsonlines.Elements(list) {
		if n == maxElements {
			return badParam(field, "expected at most %d elements, found more", maxElements)
		}
		if err := f(n, element); err != nil {
			return err
		}
		n++
	}
	return nil
}

// elementBytes is the approximate memory per list element.
const elementBytes = 64
