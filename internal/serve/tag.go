package serve

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/serve/batching"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// tagged answers sequence/tag: the spans of a sequence, and where it comes from.
type tagged struct {
	requests.Spans
	origin
}

var tagFields = fieldsOf([]string{""}, append(manyFields, "sequences")...)

// tagOne is sequence/tag.
func (c *call) tagOne(path string, fields map[string]json.RawMessage) *item {
	q, err := c.sequence(path, fields, "")
	if err != nil {
		return &item{err: err}
	}
	r, err := c.fit(q)
	if err != nil {
		return &item{err: err}
	}
	if q.text != nil {
		c.model.parser.Locate(r, *q.text)
	}
	config := c.model.config
	i := &item{work: batching.Classify, read: []*sequence{q}, numbers: spanNumbers(config, len(r.Sequences[0])),
		examples: []seq.Example{{A: r.Sequences[0], Label: seq.NoLabel}}}
	i.result = func(outputs []sft.Output) (any, error) {
		spans, err := requests.NewSpans(config, r, outputs[0])
		return tagged{spans, q.origin()}, err
	}
	return i
}

// spanNumbers is how many numbers spans of so many tokens have at most, as numberBytes counts
// them: their logits, and four a span.
func spanNumbers(config *sft.Config, tokens int) int {
	return tokens * (4 + (tokenBytes*config.NumLabels+numberBytes-1)/numberBytes)
}

// keepText keeps the text of a field that tokens were made of, for a model whose answers have
// places in it.
func (c *call) keepText(q *sequence, found string, value json.RawMessage) error {
	if !c.model.config.Tags() || strings.HasPrefix(found, "tokens") {
		return nil
	}
	if err := c.reserve(int64(len(value))); err != nil {
		return err
	}
	var text string
	var err error
	if stopped := c.do(len(value), func() {
		if text, err = jsonlines.Text(value); err == nil && strings.HasPrefix(found, "bytes") {
			var raw []byte
			raw, err = base64.StdEncoding.DecodeString(text)
			text = string(raw)
		}
		text = strings.Clone(text) // the message is given back
	}); stopped != nil {
		return stopped
	}
	if err != nil {
		return badParam(q.field, "%v", err)
	}
	q.text = &text
	return nil
}
