package requests

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/sft"
)

// ParseLabel parses a class: its index, or its name if the model has label names.
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
		if len(c.LabelNames) == 0 {
			return 0, fmt.Errorf("label %q: expected an index from 0 to %d, because the model has no label names", name,
				c.NumLabels-1)
		}
		return 0, fmt.Errorf("label %q: expected one of %s, or an index from 0 to %d", name,
			jsonlines.QuoteNames(c.LabelNames), c.NumLabels-1)
	}
	n, err := strconv.ParseInt(string(value), 10, 32)
	if err != nil || n < 0 || int(n) >= c.NumLabels {
		name := ""
		if len(c.LabelNames) > 0 {
			name = ", or the name of a label"
		}
		return 0, fmt.Errorf("label: expected 0 to %d%s, found %s", c.NumLabels-1, name, jsonlines.Kind(value))
	}
	return int32(n), nil
}
