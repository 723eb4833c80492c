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

// taggedTokens answers sequence/tag where tokens have features: a tag of each.
type taggedTokens struct {
	requests.Tags
	origin
}

var tagFields = fieldsOf([]string{""}, append(manyFields, "sequences", idField)...)

// tagOne is sequence/tag.
func (c *call) tagOne(path string, fields map[string]json.RawMessage) *item {
	q, err := c.sequence(path, fields, "")
	if err != nil {
		return &item{err: err}
	}
	q.id = fields[idField]
	return c.tagSequence(q)
}

// tagSequence is the spans of a sequence, or the tags of its tokens with features.
func (c *call) tagSequence(q *sequence) *item {
	r, err := c.fit(q)
	if err != nil {
		return &item{err: err}
	}
	if q.text != nil {
		if err := c.locate(r, q); err != nil {
			return &item{err: err}
		}
	}
	config := c.model.config
	i := &item{work: batching.Classify, read: []*sequence{q}, numbers: spanNumbers(config, r.Tokens()) + idNumbers(q.id),
		examples: []seq.Example{r.Example()}}
	i.result = func(outputs []sft.Output) (any, error) {
		if config.Featured() {
			tags, err := requests.NewTags(config, r, outputs[0])
			return taggedTokens{tags, q.origin()}, err
		}
		spans, err := requests.NewSpans(config, r, outputs[0])
		return tagged{spans, q.origin()}, err
	}
	return i
}

// locate notes the places of what a model reads of a sequence, and gives its text back.
func (c *call) locate(r *requests.Request, q *sequence) error {
	text, used := *q.text, len(r.Sequences[0])
	if err := c.reserve(requests.PlaceBytes * int64(used)); err != nil {
		return err
	}
	if stopped := c.do(len(text), func() { c.model.parser.Locate(r, text, used) }); stopped != nil {
		return stopped
	}
	q.text = nil
	c.free(int64(len(text)))
	return nil
}

// spanNumbers is how many numbers spans of so many tokens have at most, as numberBytes counts
// them: their logits, as much for a decoding that compares paths, and four a span.
func spanNumbers(config *sft.Config, tokens int) int {
	logits := tokenBytes * config.NumLabels
	if d := config.SpanDecoding; d != nil && d.SpanPenalty > 0 {
		logits *= 2
	}
	return tokens * (4 + (logits+numberBytes-1)/numberBytes)
}

// tagMethod is the method whose answers have places in a text.
const tagMethod = "sequence/tag"

// keepText keeps the text of a field that tokens were made of until their places are known, for
// the method that answers with them.
func (c *call) keepText(q *sequence, found string, value json.RawMessage) error {
	if c.method != tagMethod || strings.HasPrefix(found, "tokens") {
		return nil
	}
	raw := strings.HasPrefix(found, "bytes")
	most := int64(len(value))
	if raw {
		most += 2 * int64(base64.StdEncoding.DecodedLen(len(value)))
	}
	if err := c.reserve(most); err != nil {
		return err
	}
	var text string
	var err error
	if stopped := c.do(len(value), func() {
		if text, err = jsonlines.Text(value); err == nil && raw {
			var decoded []byte
			decoded, err = base64.StdEncoding.DecodeString(text)
			text = string(decoded)
		}
	}); stopped != nil {
		return stopped
	}
	if err != nil {
		return badParam(q.field, "%v", err)
	}
	c.free(most - int64(len(text)))
	q.text = &text
	return nil
}
