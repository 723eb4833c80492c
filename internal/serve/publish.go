package serve

import (
	"time"

	"github.com/creachadair/jrpc2"
)

const publishMethod = "sequence/publishClassification"

// published is sequence/publishClassification.
type published struct {
	URI     string         `json:"uri"`
	Version int64          `json:"version"`
	Label   any            `json:"label,omitempty"`
	Scores  []float32      `json:"scores,omitempty"` // probabilities
	Logits  []float32      `json:"logits,omitempty"`
	Length  int            `json:"length,omitempty"` // of the text, in tokens
	Window  *windowed      `json:"window,omitempty"`
	Windows []windowResult `json:"windows,omitempty"`
	Error   *jrpc2.Error   `json:"error,omitempty"` // in place of label and scores
}

// schedule has the document classified when it has been left alone for a while.
// The caller holds d.mu.
func (d *document) schedule() {
	d.quiet()
	s := d.session
	if !s.publishes() {
		return
	}
	s.pushing(1)
	d.timer = time.AfterFunc(s.server.options.Debounce, func() {
		defer s.pushing(-1)
		d.publish()
	})
}

// publishes reports whether documents have a class: a model of pairs gives none.
func (s *session) publishes() bool { return !s.server.current().config.Pair() }

// again has the document classified again.
func (d *document) again() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed && d.broken == nil {
		d.schedule()
	}
}

// hasten begins the classification of a document that waits for it.
func (d *document) hasten() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && d.timer.Stop() {
		d.timer.Reset(0)
	}
}

// pushing counts the documents that wait for their classification or are in it.
func (s *session) pushing(n int) {
	s.mu.Lock()
	s.pushes += n
	s.mu.Unlock()
	s.work.Add(n)
	s.wakeFinish()
}

// publish classifies the document and tells the client, unless it changes
// meanwhile.
func (d *document) publish() {
	s := d.session
	model := s.server.acquire()
	defer model.done()
	d.mu.Lock()
	text, version, ctx, broken, closed := string(d.text), d.version, d.ctx, d.broken, d.closed
	d.mu.Unlock()
	if closed || broken != nil || ctx.Err() != nil {
		return
	}
	out := published{URI: d.uri, Version: version}
	c := &call{session: s, model: model, ctx: ctx, method: publishMethod}
	q := &sequence{field: "text", document: d, version: version}
	r, err := c.classifyText(q, text, d.window)
	defer func() { c.free(c.bytes) }()
	out.Length = len(q.tokens)
	if err != nil {
		out.Error = asError(err)
	} else {
		out.Label, out.Scores, out.Logits, out.Window, out.Windows = r.Label, r.Probabilities, r.Logits, r.Window, r.Windows
	}
	// The lock keeps a change from coming between this look and the push: a
	// version is not told once it is superseded, nor after a newer one; nor what a
	// model says that is not used any more.
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.version == version && ctx.Err() == nil && !d.closed && s.server.current() == model {
		s.notify(publishMethod, out)
	}
}
