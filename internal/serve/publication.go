package serve

import (
	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/serve/batching"
)

// publication is the answer to a document that the server pushes, or the error in its place.
type publication struct {
	URI     string `json:"uri"`
	Version int64  `json:"version"`

	answer any // see [Task.Published]
	read   publishedRead
}

// publishedRead is what was read of a document.
type publishedRead struct {
	Length  int              `json:"length,omitempty"` // length of the text in tokens
	Used    *int             `json:"used,omitempty"`   // tokens read, if an input window may cut
	Window  *windowed        `json:"window,omitempty"`
	Windows []answeredWindow `json:"windows,omitempty"`
	Error   *Error           `json:"error,omitempty"` // in place of the answer
}

// MarshalJSON has the fields of the answer between those of the document.
func (p publication) MarshalJSON() ([]byte, error) {
	type document publication // without this method
	parts := []any{document(p)}
	if p.answer != nil {
		parts = append(parts, p.answer)
	}
	return jsonlines.Join(append(parts, p.read)...)
}

// publication answers a document's text, of the version that q has.
func (c *call) publication(q *sequence, text string, err error) publication {
	if err == nil && c.model.config.Featured() { // since a reload
		err = badParam("text", featured+": expected no document")
	}
	var a answered
	if err == nil {
		a, err = c.answerText(q, text)
	}
	out := publication{URI: q.document.uri, Version: q.version, read: publishedRead{Length: len(q.tokens)}}
	if err != nil {
		out.read.Error = asError(err)
		return out
	}
	out.answer = c.model.task.Published(a.Answer)
	out.read.Used, out.read.Window, out.read.Windows = a.Used, a.Window, a.Windows
	return out
}

// answerText answers a text. The sequence gets its tokens.
func (c *call) answerText(q *sequence, text string) (a answered, err error) {
	defer c.recovered(&err)
	if q.tokens, err = c.encodeText(q.field, text); err != nil {
		return a, err
	}
	if c.needsText() {
		q.text = &text
	}
	i := c.answerSequence(batching.Classify, q, c.documentWindow(q))
	c.start(i)
	defer c.close(i)
	result, err := c.wait(i)
	if err != nil {
		return a, err
	}
	return result.(answered), nil
}
