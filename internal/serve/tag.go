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

var tagFields = fieldsOf([]string{""}, append(manyFields, "sequences")...)

// tagOne is sequence/tag.
func (c *call) tagOne(path string, fields map[string]json.RawMessage) *item {
	q, err := c.sequence(path, fields, "")
	if err != nil {
		return &item{err: err}
	}
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
	i := &item{work: batching.Classify, read: []*sequence{q}, numbers: spanNumbers(config, r.Tokens()),
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

// tagText tags a document's text, for which memory is reserved that is given back.
func (c *call) tagText(q *sequence, text string) (out tagged, err error) {
	defer c.recovered(&err)
	if q.tokens, err = c.encodeText(q.field, text); err != nil {
		return out, err
	}
	q.text = &text
	i := c.tagSequence(q)
	c.start(i)
	defer c.close(i)
	result, err := c.wait(i)
	if err != nil {
		return out, err
	}
	return result.(tagged), nil
}

const publishSpansMethod = "sequence/publishSpans"

// publishedSpans is sequence/publishSpans.
type publishedSpans struct {
	URI     string     `json:"uri"`
	Version int64      `json:"version"`
	Spans   []sft.Span `json:"spans,omitzero"`
	Unit    string     `json:"unit,omitempty"`
	Length  int        `json:"length,omitempty"` // of the text, in tokens
	Used    *int       `json:"used,omitempty"`   // of these, where an input window may cut
	Error   *Error     `json:"error,omitempty"`  // in place of spans
}

// publication is what a document's client is told of its text, by a method; err is why the text
// could not be read.
func (c *call) publication(q *sequence, text string, err error) (method string, said any, failed *Error) {
	if err == nil && c.model.config.Featured() { // since a reload
		err = badParam("text", featured+": expected no document")
	}
	if !c.model.config.Tags() {
		var r classification
		if err == nil {
			r, err = c.classifyText(q, text, q.document.window)
		}
		out := published{URI: q.document.uri, Version: q.version, Length: len(q.tokens)}
		if err != nil {
			out.Error = asError(err)
		} else {
			out.Label, out.Scores, out.Logits, out.Used, out.Window, out.Windows = r.Label, r.Probabilities, r.Logits, r.Used, r.Window, r.Windows
		}
		return publishMethod, out, out.Error
	}
	var r tagged
	if err == nil {
		r, err = c.tagText(q, text)
	}
	out := publishedSpans{URI: q.document.uri, Version: q.version, Length: len(q.tokens)}
	if err != nil {
		out.Error = asError(err)
	} else {
		out.Spans, out.Unit, out.Used = r.Spans.Spans, r.Unit, r.Used
	}
	return publishSpansMethod, out, out.Error
}

// spanNumbers is how many numbers spans of so many tokens have at most, as numberBytes counts
// them: their logits, and four a span.
func spanNumbers(config *sft.Config, tokens int) int {
	return tokens * (4 + (tokenBytes*config.NumLabels+numberBytes-1)/numberBytes)
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
