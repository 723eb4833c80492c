package requests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// parseNumbers reads the numbers of a sequence, a list in the order of the model's, or an object by
// their names, as data head prints them.
func parseNumbers(c *sft.Config, value json.RawMessage) ([]float32, error) {
	if value == nil {
		return nil, fmt.Errorf("numbers are missing, expected a list or an object of %q", c.NumberNames())
	}
	list, err := value, error(nil)
	if value[0] == '{' {
		list, err = listOf(c.NumberNames(), value)
	}
	var numbers []float32
	if err == nil {
		numbers, err = jsonlines.Numbers(list)
	}
	if err == nil && len(numbers) != c.NumLabels {
		err = fmt.Errorf("found %.80s", value)
	}
	if err != nil {
		return nil, fmt.Errorf("numbers: expected a list or an object of %q: %w", c.NumberNames(), err)
	}
	return numbers, nil
}

// listOf is the list of the values of an object that have the names, in their order.
func listOf(names []string, object json.RawMessage) (json.RawMessage, error) {
	known := map[string]bool{}
	for _, name := range names {
		known[name] = true
	}
	fields, err := jsonlines.Object(object, known)
	if err != nil {
		return nil, err
	}
	var values [][]byte
	for _, name := range names {
		if fields[name] == nil {
			return nil, fmt.Errorf("%q is missing", name)
		}
		values = append(values, fields[name])
	}
	return slices.Concat([]byte("["), bytes.Join(values, []byte(",")), []byte("]")), nil
}

// parseTags reads the labels of tokens, each as [ParseLabel] has it; null and -1 stand for none.
func parseTags(c *sft.Config, value json.RawMessage, tokens int) ([]int32, error) {
	if value == nil {
		return nil, fmt.Errorf("labels are missing, expected one for each of the %d tokens", tokens)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(value, &list); err != nil || len(list) != tokens {
		return nil, fmt.Errorf("labels: expected a list of one for each of the %d tokens, found %.80s", tokens, value)
	}
	out := make([]int32, tokens)
	for i, label := range list {
		out[i] = seq.NoLabel
		if text := string(label); text == "null" || text == "-1" {
			continue
		}
		var err error
		if out[i], err = ParseLabel(c, label); err != nil {
			return nil, fmt.Errorf("labels: index %d: %w", i, err)
		}
	}
	return out, nil
}

// ParseLabel reads a class: its number, or its name where the model has names.
func ParseLabel(c *sft.Config, value json.RawMessage) (int32, error) {
	if value == nil {
		return 0, fmt.Errorf("label is missing")
	}
	if value[0] == '"' {
		name, err := jsonlines.Text(value)
		if err != nil {
			return 0, fmt.Errorf("label: %w", err)
		}
		for i, n := range c.LabelNames {
			if n == name {
				return int32(i), nil
			}
		}
		return 0, fmt.Errorf("label: expected a name of the model's %q or a number, found %q", c.LabelNames, name)
	}
	n, err := strconv.ParseInt(string(value), 10, 32)
	if err != nil || n < 0 || int(n) >= c.NumLabels {
		return 0, fmt.Errorf("label: expected 0 to %d, found %s", c.NumLabels-1, jsonlines.Kind(value))
	}
	return int32(n), nil
}
