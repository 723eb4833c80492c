package serve

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/requests"
)

// needsText reports whether the call's result has positions in the text.
func (c *call) needsText() bool {
	return c.model.task.HasPositions() && c.method == c.model.task.Method()
}

// unitOfPositions returns the unit of positions in the session's results.
func (s *session) unitOfPositions() string { return cmp.Or(s.positionUnit, requests.Characters) }

// locate computes the text positions of the tokens that the model reads, and releases the text.
func (c *call) locate(r *requests.Request, q *sequence) error {
	text, used := *q.text, len(r.Sequences[0])
	if err := c.reserve(requests.OffsetBytes * int64(used)); err != nil {
		return err
	}
	if stopped := c.do(len(text),
		func() { c.model.parser.RecordPositionsIn(r, text, used, c.session.unitOfPositions()) }); stopped != nil {
		return stopped
	}
	q.text = nil
	c.free(int64(len(text)))
	return nil
}

// keepText stores a field's text in q.text for locate, if the call's result has positions.
func (c *call) keepText(q *sequence, found string, value json.RawMessage) error {
	if !c.needsText() || strings.HasPrefix(found, "tokens") {
		return nil
	}
	raw := strings.HasPrefix(found, "bytes")
	maxBytes := int64(len(value))
	if raw {
		maxBytes += 2 * int64(base64.StdEncoding.DecodedLen(len(value)))
	}
	if err := c.reserve(maxBytes); err != nil {
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
	c.free(maxBytes - int64(len(text)))
	q.text = &text
	return nil
}
