package serve

import (
	"encoding/json"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/sft"
)

// labelled answers sequence/labels: the labels of a sequence that hold, and where it comes from.
type labelled struct {
	requests.Labels
	origin
}

var labelsFields = fieldsOf([]string{""}, append(manyFields, "sequences")...)

// labelsOne is sequence/labels.
func (c *call) labelsOne(path string, fields map[string]json.RawMessage) *item {
	return c.answerWhole(path, fields, func(r *requests.Request, o sft.Output, from origin) (any, error) {
		labels, err := requests.NewLabels(c.model.config, r, o)
		return labelled{labels, from}, err
	})
}
