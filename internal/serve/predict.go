package serve

import (
	"encoding/json"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/serve/batching"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// predicted answers sequence/predict: the numbers of a sequence, and where it comes from.
type predicted struct {
	requests.Numbers
	origin
}

var predictFields = fieldsOf([]string{""}, append(manyFields, "sequences")...)

// predictOne is sequence/predict.
func (c *call) predictOne(path string, fields map[string]json.RawMessage) *item {
	q, err := c.sequence(path, fields, "")
	if err != nil {
		return &item{err: err}
	}
	config := c.model.config
	var whole *window // what the model reads of it
	cuts, err := whole.cut(config, q)
	if err != nil {
		return &item{err: err}
	}
	i := &item{work: batching.Classify, read: []*sequence{q}, numbers: predictionNumbers(config),
		examples: []seq.Example{{A: cuts[0].tokens, Label: seq.NoLabel}}}
	i.result = func(outputs []sft.Output) (any, error) {
		r := &requests.Request{Sequences: [][]int32{cuts[0].tokens}, Lengths: []int{len(q.tokens)}}
		numbers, err := requests.NewNumbers(config, r, outputs[0])
		return predicted{numbers, q.origin()}, err
	}
	return i
}
