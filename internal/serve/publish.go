package serve

import "time"

// schedule has the document classified when it has been left alone for a while.
// The caller holds d.mu.
func (d *document) schedule(after time.Duration) {
	d.quiet()
	s := d.session
	if !s.publishes() {
		return
	}
	s.pushing(1)
	timer := d.timers
	d.timer = time.AfterFunc(after, func() {
		defer s.pushing(-1)
		d.publish(timer)
	})
}

// publishes reports whether the server pushes answers to documents: a model of pairs and one without labels have none.
func (s *session) publishes() bool {
	return s.server.current().task.Notification() != ""
}

// again has the document classified again.
func (d *document) again() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed && d.broken == nil {
		d.schedule(d.session.server.options.Debounce)
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

// publish computes the document's result and pushes it, unless the document changes meanwhile. timer is the number of
// the timer that has ended: another may have been set since.
func (d *document) publish(timer int) {
	s := d.session
	model := s.server.acquire()
	defer model.Done()
	c := &call{session: s, model: model, method: model.task.Method()}
	defer func() { c.free(c.bytes) }()
	d.mu.Lock()
	if d.closed || d.broken != nil || d.timers != timer {
		d.mu.Unlock()
		return
	}
	c.ctx = d.ctx
	q := &sequence{field: "text", document: d, version: d.version}
	text, err := d.read(c, q.field)
	d.mu.Unlock()
	if d.editor && err == nil {
		err = c.reserve(int64(len(text))) // its lines are counted when its spans are known
	}
	out := c.publication(q, text, err)
	var shown []diagnostic
	if d.editor {
		shown = c.diagnostics(text, out)
	}
	ending := s.documents.isEnding()
	// The lock keeps changes out between this check and the push: the result of a superseded
	// version or of a replaced model is never pushed, nor an older one after a newer one.
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.version != q.version || c.ctx.Err() != nil || d.closed || s.server.current() != model:
	case out.read.Error != nil && out.read.Error.Code == codeBusy && !ending:
		// The client has asked for nothing that it could ask for again.
		d.schedule(max(s.server.options.Debounce, time.Duration(s.server.retryAfter())*time.Millisecond))
	default:
		d.push(model, out, shown)
	}
}

// push sends what a model says of the document: to an editor as diagnostics. The caller holds d.mu.
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
