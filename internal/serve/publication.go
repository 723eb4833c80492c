package serve

import (
	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/serve/batching"
)

// publication is a pushed notification: the prediction for a document, or an error.
type publication struct {
	URI     string `json:"uri"`
	Version int64  `json:"version"`

	prediction any // see [Task.Published]
	read       publishedRead
}

// publishedRead describes the part of a document that the model read.
type publishedRead struct {
	Length  int                `json:"length,omitempty"` // length of the text in tokens
	Used    *int               `json:"used,omitempty"`   // tokens read, if the model has an input window
	Window  *windowRead        `json:"window,omitempty"`
	Windows []windowPrediction `json:"windows,omitempty"`
	Error   *Error             `json:"error,omitempty"` // set instead of a prediction
}

// MarshalJSON writes the URI, the version, and the fields of the prediction and of publishedRead as one
// object.
func (p publication) MarshalJSON() ([]byte, error) {
	type document publication // has no MarshalJSON
	parts := []any{document(p)}
	if p.prediction != nil {
		parts = append(parts, p.prediction)
	}
	return jsonlines.Join(append(parts, p.read)...)
}

// publication returns the publication for a document's text in the version of q. last is the
// previous publication's text and tokens, or nil. err is the error of reading the text, or nil.
func (c *call) publication(q *sequence, text string, last *encoded, err error) publication {
	if err == nil && c.model.config.HasFeatures() { // possible after a reload
		err = badParam("text", featuresOnly+": expected no document")
	}
	var a prediction
	if err == nil {
		a, err = c.predictText(q, text, last)
	}
	out := publication{URI: q.document.uri, Version: q.version, read: publishedRead{Length: len(q.tokens)}}
	if err != nil {
		out.read.Error = asError(err)
		return out
	}
	out.prediction = c.model.task.Published(a.Prediction)
	out.read.Used, out.read.Window, out.read.Windows = a.Used, a.Window, a.Windows
	return out
}

// predictText returns the prediction for a text. It sets the tokens of q, and turns a panic into an
// error.
func (c *call) predictText(q *sequence, text string, last *encoded) (a prediction, err error) {
	defer c.recoverPanic(&err)
	if q.tokens, err = c.encodeEdited(q.field, text, last); err != nil {
		return a, err
	}
	if c.needsText() {
		q.text = &text
	}
	i := c.predictSequence(batching.Classify, q, c.documentWindow(q))
	c.start(i)
	defer c.close(i)
	result, err := c.wait(i)
	if err != nil {
		return a, err
	}
	return result.(prediction), nil
}
