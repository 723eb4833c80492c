package serve

import (
	"encoding/json"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/serve/batching"
	"github.com/sftseq/sftseq/seq"
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
		labels, err := requests.NewLabels(config, r, outputs[0])
		return labelled{labels, q.origin()}, err
	}
	return i
}
