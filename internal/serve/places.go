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

// placesUnit returns the unit of positions in the session's results.
func (s *session) placesUnit() string { return cmp.Or(s.places, requests.Characters) }

// locate computes the text positions of the tokens that the model reads, and releases the text.
func (c *call) locate(r *requests.Request, q *sequence) error {
	text, used := *q.text, len(r.Sequences[0])
	if err := c.reserve(requests.PlaceBytes * int64(used)); err != nil {
		return err
	}
	if stopped := c.do(len(text),
		func() { c.model.parser.LocateIn(r, text, used, c.session.placesUnit()) }); stopped != nil {
		return stopped
	}
	q.text = nil
	c.free(int64(len(text)))
	return nil
}

// keepText keeps a field's text in q.text until locate, if the call's result has positions.
func (c *call) keepText(q *sequence, found string, value json.RawMessage) error {
	if !c.needsText() || strings.HasPrefix(found, "tokens") {
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
