package requests

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/sft"
)

// Labels is the reply to a line of which any number of labels may hold.
type Labels struct {
	ID            json.RawMessage `json:"id,omitempty"`
	Labels        []any           `json:"labels"`
	Probabilities NamedNumbers    `json:"probabilities"`
	Sizes
	Explained
}

// NewLabels says which labels of a request hold: those whose probability reaches their threshold.
// Output that JSON cannot hold is a [*Failure].
func NewLabels(c *sft.Config, r *Request, o sft.Output) (Labels, error) {
	if !finite(o.Logits) {
		return Labels{}, errNonFinite()
	}
	holding, probabilities := c.Holding(o.Logits)
	out := Labels{ID: r.ID, Labels: []any{}, Probabilities: NamedNumbers{Values: probabilities}, Sizes: newSizes(c, r), Explained: newExplained(o)}
	for _, label := range holding {
		out.Labels = append(out.Labels, c.Label(int(label)))
	}
	for label := range probabilities {
		out.Probabilities.Names = append(out.Probabilities.Names, fmt.Sprint(c.Label(label)))
	}
	return out, nil
}

// parseLabels reads the labels that hold of a sequence, by name or number.
func parseLabels(c *sft.Config, value json.RawMessage) ([]int32, error) {
	var list []json.RawMessage
	if value == nil || json.Unmarshal(value, &list) != nil || list == nil {
		return nil, fmt.Errorf("labels: expected a list of those that hold, found %.80s", value)
	}
	labels := []int32{}
	for i, item := range list {
		label, err := ParseLabel(c, item)
		if err != nil {
			return nil, fmt.Errorf("labels[%d]: %w", i, err)
		}
		labels = append(labels, label)
	}
	slices.Sort(labels)
	return slices.Compact(labels), nil
}
