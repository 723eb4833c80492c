package requests

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// parseNumbers reads the numbers of a sequence, a list in the order of the model's.
func parseNumbers(c *sft.Config, value json.RawMessage) ([]float32, error) {
	if value == nil {
		return nil, fmt.Errorf("numbers are missing, expected a list of %q", c.NumberNames())
	}
	numbers, err := jsonlines.Numbers(value)
	if err == nil && len(numbers) != c.NumLabels {
		err = fmt.Errorf("found %.80s", value)
	}
	if err != nil {
		return nil, fmt.Errorf("numbers: expected a list of %q: %w", c.NumberNames(), err)
	}
	return numbers, nil
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
