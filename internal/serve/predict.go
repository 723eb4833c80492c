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
	return c.answerWhole(path, fields, func(r *requests.Request, o sft.Output, from origin) (any, error) {
		numbers, err := requests.NewNumbers(c.model.config, r, o)
		return predicted{numbers, from}, err
	})
}

// answerWhole answers a sequence as far as the model reads it, of which no part is chosen.
func (c *call) answerWhole(path string, fields map[string]json.RawMessage, answer func(*requests.Request, sft.Output, origin) (any, error)) *item {
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
		return answer(&requests.Request{Sequences: [][]int32{cuts[0].tokens}, Lengths: []int{len(q.tokens)}}, outputs[0], q.origin())
	}
	return i
}
