package serve

import (
	"encoding/json"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/sft"
)

// labelled answers sequence/labels: the labels of a sequence that hold, and where it comes from.
type labelled struct {
	requests.Labels
	extent
}

// labelledWindow is what the model says of one of several windows.
type labelledWindow struct {
	Start         int                   `json:"start"`
	End           int                   `json:"end"`
	Labels        []any                 `json:"labels"`
	Probabilities requests.NamedNumbers `json:"probabilities"`
}

var labelsFields = fieldsOf([]string{""}, append(manyFields, "sequences", "window", idField)...)

// labelsOne is sequence/labels.
func (c *call) labelsOne(path string, fields map[string]json.RawMessage) *item {
	q, w, err := c.wholeSequence(path, fields)
	if err != nil {
		return &item{err: err}
	}
	return c.labelSequence(q, w)
}

// labelSequence is the labels of a sequence, or of its windows.
func (c *call) labelSequence(q *sequence, w *window) *item {
	config := c.model.config
	return c.answerWhole(q, w, func(r *requests.Request, o sft.Output, of extent) (any, error) {
		labels, err := requests.NewLabels(config, r, o)
		labels.Used = of.used(labels.Used)
		return labelled{labels, of}, err
	}, func(start, end int, r *requests.Request, o sft.Output) (any, error) {
		labels, err := requests.NewLabels(config, r, o)
		return labelledWindow{start, end, labels.Labels, labels.Probabilities}, err
	})
}
