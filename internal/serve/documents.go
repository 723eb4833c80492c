package serve

import (
	"context"
	"encoding/json"
	"math"
	"sync"
	"time"

	"github.com/sftseq/sftseq/internal/rope"
)

// documents are the open documents of a session.
type documents struct {
	mu        sync.Mutex
	open      map[string]*document
	lastClose uint64 // value of session.edits at the last close
	ending    bool   // true if the session ends and failed classifications are not retried
}

// document is a text that the client edits and the server keeps. Only the goroutine that runs
// session.receive edits the text; closing the document, possibly in another goroutine, drops the text.
type document struct {
	session *session
	uri     string
	editor  bool    // opened by an editor, which gets diagnostics
	window  *window // window for long texts, or nil

	mu            sync.Mutex
	text          rope.Text
	reservedBytes int64 // memory reserved on the server
	encoded       *encoded
	version       int64
	lastEdit      uint64 // value of session.edits at the last change
	broken        error  // the error that broke the text, or nil
	closed        bool
	ctx           context.Context // ends at the next change
	changed       context.CancelFunc
	timer         *time.Timer // debounce timer of the classification
	timerNumber   int         // number of the current timer; a timer that fired too late has a lower number
}

// find returns the open document with a URI, or nil.
func (d *documents) find(uri string) *document {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[uri]
}

// closedSince reports whether a document was closed after a given number of edits.
func (d *documents) closedSince(edits uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lastClose > edits
}

// publishNow starts all scheduled classifications without their debounce delay. From then on, a
// classification that fails because the server is busy is not retried.
func (d *documents) publishNow() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ending = true
	for _, doc := range d.open {
		doc.publishNow()
	}
}

// isEnding reports whether the session is ending.
func (d *documents) isEnding() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ending
}

// reschedule schedules another classification of the open documents, except broken ones. It is called
// after a reload of the model.
func (d *documents) reschedule() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, doc := range d.open {
		doc.reschedule()
	}
}

// close closes all documents at the end of the session.
func (d *documents) close() {
	d.mu.Lock()
	open := d.open
	d.open, d.lastClose = nil, math.MaxUint64
	d.mu.Unlock()
	for _, doc := range open {
		doc.close()
	}
}

// close closes a document and cancels its classification.
func (d *document) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closeLocked()
}

// closeLocked is like close, for a caller that holds d.mu.
func (d *document) closeLocked() {
	d.closed = true
	d.changed()
	d.cancelScheduled()
	d.dropText()
}

// cancelScheduled cancels a classification that has not started. The caller holds d.mu.
func (d *document) cancelScheduled() {
	if d.timer != nil && d.timer.Stop() {
		d.session.countPushes(-1)
	}
	d.timer = nil
	d.timerNumber++
}

// modifiedError returns the error of a request whose document was changed or closed since the request
// arrived. field is the field of the request that names the document.
func (d *document) modifiedError(field string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.modifiedErrorLocked(field)
}

// modifiedErrorLocked is like modifiedError, for a caller that holds d.mu.
func (d *document) modifiedErrorLocked(field string) error {
	if d.closed {
		return closedError(field, d.uri)
	}
	return fail(codeModified, changedDocument{field, d.uri, &d.version}, "%s: %s changed meanwhile", field, d.uri)
}

// closedError is like modifiedError, for a closed document, which has no version.
func closedError(field, uri string) error {
	return fail(codeModified, changedDocument{field, uri, nil}, "%s: %s was closed meanwhile", field, uri)
}

// setVersion sets a new version and cancels computations on the old one. The caller holds d.mu.
func (d *document) setVersion(version int64) {
	if d.changed != nil {
		d.changed()
	}
	d.ctx, d.changed = context.WithCancel(d.session.ctx)
	d.version, d.lastEdit = version, d.session.edits
}

// documentSequence returns the sequence of an open document. A later change of the document cancels the
// request.
func (c *call) documentSequence(path string, value json.RawMessage) (*sequence, error) {
	var uri string
	if err := unmarshal(path, value, &uri, "a string"); err != nil {
		return nil, err
	}
	d := c.session.documents.find(uri)
	switch {
	case d == nil && c.session.documents.closedSince(c.edits):
		return nil, closedError(path, uri)
	case d == nil:
		return nil, unknownDocumentError(path, uri)
	}
	q := &sequence{field: path, document: d}
	text, err := c.textOf(q)
	if err != nil {
		return nil, err
	}
	if c.needsText() {
		q.text = &text
	} else {
		defer c.free(int64(len(text)))
	}
	q.tokens, err = c.encodeText(path, text)
	return q, err
}

// textOf copies the text of a sequence's document and reserves memory for the copy.
func (c *call) textOf(q *sequence) (string, error) {
	d := q.document
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed || d.lastEdit > c.edits:
		return "", d.modifiedErrorLocked(q.field)
	case d.broken != nil:
		return "", fail(codeFailed, changedDocument{q.field, d.uri, &d.version}, "%s: %s", q.field,
			asError(d.broken).Message)
	}
	text, err := d.read(c, q.field)
	if err == nil {
		q.version, q.changed = d.version, d.ctx
	}
	return text, err
}

// checkVersion returns an error unless the document has the version that a request requires. path names
// the field with the required version in errors.
func (q *sequence) checkVersion(path string, version json.RawMessage) error {
	var wanted int64
	if err := unmarshal(path, version, &wanted, "a whole number"); err != nil {
		return err
	}
	if uri := q.document.uri; wanted != q.version {
		return fail(codeModified, changedDocument{q.field, uri, &q.version}, "%s: expected version %d of %s, found %d",
			path, wanted, uri, q.version)
	}
	return nil
}

// encodeText tokenizes a text. field is the text's name in errors.
func (c *call) encodeText(field, text string) ([]int32, error) {
	return c.tokenize(len(text), c.model.parser.Memory(int64(len(text))), func() ([]int32, error) {
		tokens, err := c.model.parser.Encode(text)
		if err != nil {
			return nil, badParam(field, "%v", err)
		}
		return tokens, nil
	})
}
