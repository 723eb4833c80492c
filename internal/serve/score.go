package serve

import (
	"encoding/json"

	"github.com/sftseq/sftseq/internal/serve/batching"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

var scoreFields = fieldsOf([]string{"_a", "_b"}, append(listFields, "pairs", "explain", idField)...)

// scoreOne is the [planFunc] of retrieval/score.
func (c *call) scoreOne(path string, fields map[string]json.RawMessage) *item {
	a, err := c.sequence(path, fields, "_a")
	if err != nil {
		return &item{err: err}
	}
	a.id = fields[idField] // the id belongs to the pair
	return c.scorePair(a, path, fields)
}

// scorePair returns the item of a pair. The first sequence is already parsed; the second is parsed from
// the given fields.
func (c *call) scorePair(a *sequence, path string, fields map[string]json.RawMessage) *item {
	b, err := c.sequence(path, fields, "_b")
	if err != nil {
		return &item{err: err}
	}
	r, err := c.requestOf(a, b)
	if err != nil {
		return &item{err: err}
	}
	work, err := c.parseExplain(path+"explain", fields["explain"])
	if err != nil {
		return &item{err: err}
	}
	model := c.model
	numbers := c.model.task.ResponseNumbers(r.Tokens()) + idNumbers(a.id)
	if work == batching.Explain {
		for i, tokens := range r.Sequences {
			numbers += model.Scorer.ExplanationNumbers(c.explanationTokens(len(tokens), r.Lengths[i]))
		}
	}
	return &item{work: work, examples: []seq.Example{r.Example()}, read: []*sequence{a, b}, numbers: numbers,
		result: func(outputs []sft.Output) (any, error) {
			r.InRow(model.config, outputs[0])
			return model.reply(r, outputs[0])
		}}
}
