package serve

import (
	"encoding/json"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/sft"
)

// predicted answers sequence/predict: the numbers of a sequence, and where it comes from.
type predicted struct {
	requests.Numbers
	extent
}

// predictedWindow is what the model says of one of several windows.
type predictedWindow struct {
	Start   int                   `json:"start"`
	End     int                   `json:"end"`
	Numbers requests.NamedNumbers `json:"numbers"`
}

var predictFields = fieldsOf([]string{""}, append(manyFields, "sequences", "window", idField)...)

// predictOne is sequence/predict.
func (c *call) predictOne(path string, fields map[string]json.RawMessage) *item {
	q, w, err := c.wholeSequence(path, fields)
	if err != nil {
		return &item{err: err}
	}
	return c.predictSequence(q, w)
}

// predictSequence is the numbers of a sequence, or of its windows.
func (c *call) predictSequence(q *sequence, w *window) *item {
	config := c.model.config
	return c.answerWhole(q, w, func(r *requests.Request, o sft.Output, of extent) (any, error) {
		o.Numbers = config.Predictions(o.Logits) // of several windows, those of their mean
		numbers, err := requests.NewNumbers(config, r, o)
		numbers.Used = of.used(numbers.Used)
		return predicted{numbers, of}, err
	}, func(start, end int, r *requests.Request, o sft.Output) (any, error) {
		numbers, err := requests.NewNumbers(config, r, o)
		return predictedWindow{start, end, numbers.Numbers}, err
	})
}
