package serve

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// documents are those that a session has open.
type documents struct {
	mu   sync.Mutex
	open map[string]*document
}

// document is a text that the client edits and the server keeps. Only the
// goroutine that reads the stream changes it.
type document struct {
	session *session
	uri     string
	window  *window // what is read of it if it is too long

	mu      sync.Mutex
	text    []byte
	units   int // of UTF-16
	version int64
	edited  uint64 // the session's edits when it was changed last
	broken  error  // why its text is not the client's any more
	closed  bool
	ctx     context.Context // ends at the next change
	changed context.CancelFunc
	timer   *time.Timer // until it is classified
}

// find returns the open document of a name, or nil.
func (d *documents) find(uri string) *document {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[uri]
}

// close ends all documents, at the end of the session.
func (d *documents) close() {
	d.mu.Lock()
	open := d.open
	d.open = nil
	d.mu.Unlock()
	for _, doc := range open {
		doc.close()
	}
}

// close ends a document and what is under way for it.
func (d *document) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.changed()
	d.quiet()
	d.session.release(int64(len(d.text)))
	d.text = nil
}

// quiet takes back a classification that has not begun. The caller holds d.mu.
func (d *document) quiet() {
	if d.timer != nil && d.timer.Stop() {
		d.session.work.Done()
	}
	d.timer = nil
}

// renew begins a new version: what was computed of the old one is not wanted any
// more. The caller holds d.mu.
func (d *document) renew(version int64) {
	if d.changed != nil {
		d.changed()
	}
	d.ctx, d.changed = context.WithCancel(d.session.ctx)
	d.version, d.edited = version, d.session.edits
}

// openDocument is the sequence of an open document, as it was when the call came.
func (c *call) openDocument(path string, value json.RawMessage) (*sequence, error) {
	var uri string
	if err := unmarshal(path, value, &uri, "a string"); err != nil {
		return nil, err
	}
	d := c.session.documents.find(uri)
	if d == nil {
		return nil, badParam(path, "no document %q is open", uri)
	}
	d.mu.Lock()
	edited, broken, text := d.edited, d.broken, string(d.text)
	q := &sequence{field: path, document: d, version: d.version, changed: d.ctx}
	d.mu.Unlock()
	switch {
	case edited > c.edits:
		return nil, errModified
	case broken != nil:
		return nil, fail(codeFailed, place{Field: path}, "%s: %s; open it again", path, asError(broken).Message)
	}
	var err error
	if q.tokens, err = c.model.parser.Encode(text); err != nil {
		return nil, badParam(path, "%v", err)
	}
	return q, nil
}
