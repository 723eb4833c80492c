package serve

import (
	"strings"
	"time"
)

// schedule starts the debounce timer, which publishes the document's prediction after the given time
// without edits. The caller holds d.mu.
func (d *document) schedule(after time.Duration) {
	d.cancelScheduled()
	s := d.session
	if !s.publishes() {
		return
	}
	s.countPushes(1)
	timer := d.timerNumber
	d.timer = time.AfterFunc(after, func() {
		defer s.countPushes(-1)
		d.publish(timer)
	})
}

// publishes reports whether the server pushes predictions for documents: for all models except models of
// pairs and fill-mask models.
func (s *session) publishes() bool {
	return s.server.current().task.Notification() != ""
}

// reschedule schedules another publication for the document, unless the document is closed or broken.
func (d *document) reschedule() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed && d.broken == nil {
		d.schedule(d.session.server.options.Debounce)
	}
}

// publishNow fires a pending debounce timer immediately.
func (d *document) publishNow() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && d.timer.Stop() {
		d.timer.Reset(0)
	}
}

// countPushes adds n to the number of scheduled and running publications.
func (s *session) countPushes(n int) {
	s.mu.Lock()
	s.pushes += n
	s.mu.Unlock()
	s.workGroup.Add(n)
	s.signalResponse()
}

// publish computes the document's prediction and pushes it, unless the document changes during the
// computation. timer is the number of the timer that fired; a newer timer may have replaced it.
func (d *document) publish(timer int) {
	s := d.session
	model := s.server.acquire()
	defer model.Done()
	c := &call{session: s, model: model, method: model.task.Method()}
	defer func() { c.free(c.bytes) }()
	d.mu.Lock()
	if d.closed || d.broken != nil || d.timerNumber != timer {
		d.mu.Unlock()
		return
	}
	c.ctx = d.ctx
	q := &sequence{field: "text", document: d, version: d.version}
	last := d.takeEncoded()
	text, err := d.read(c, q.field)
	d.mu.Unlock()
	if d.editor && err == nil {
		err = c.reserve(int64(len(text))) // estimated memory of the diagnostics, because the spans are not known yet
	}
	out := c.publication(q, text, last, err)
	var shown []diagnostic
	if d.editor {
		shown = c.diagnostics(text, out)
		if err == nil && strings.TrimSpace(text) == "" {
			out.read.Error = nil // an editor shows no error for a new, empty file
		}
	}
	ending := s.documents.isEnding()
	// The lock prevents edits between the check of the version and the push. Results of an outdated
	// version are therefore never pushed, and results are pushed in order. After a reload during the
	// push, the result of the new model follows.
	d.mu.Lock()
	defer d.mu.Unlock()
	if out.read.Error == nil {
		d.keepEncoded(c, q, text)
	}
	switch {
	case d.version != q.version || c.ctx.Err() != nil || d.closed || s.server.current() != model:
	case out.read.Error != nil && out.read.Error.Code == codeBusy && !ending:
		// Retry here, because the client has sent no request that it could repeat.
		d.schedule(max(s.server.options.Debounce, time.Duration(s.server.retryAfter())*time.Millisecond))
	default:
		d.push(model, out, shown)
	}
}

// push sends the publication to the client; an editor receives diagnostics instead. The caller holds
// d.mu.
func (d *document) push(model *served, out publication, shown []diagnostic) {
	if !d.editor {
		d.session.notify(model.task.Notification(), out)
		return
	}
	if out.read.Error != nil {
		shown = []diagnostic{{Severity: severityWarning, Source: diagnosticSource, Message: out.read.Error.Message}}
	}
	d.session.notify(publishDiagnostics, diagnostics{URI: d.uri, Version: &out.Version, Diagnostics: shown})
}
