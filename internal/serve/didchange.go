package serve

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

var changeFields = newFieldSet("uri", "version", "changes")

// Fields of a change and of its range. A change replaces the range, or the whole text if it has no range. An
// unknown field of a change is an error.
var (
	changeFieldNames = []string{"range", "text"}
	changeFieldSet   = map[string]bool{"range": true, "text": true}
	rangeFieldSet    = map[string]bool{"start": true, "end": true}
)

// didChange implements sequence/didChange. It applies the changes in order. If a change cannot be
// applied, the server's text differs from the client's. The document is then marked as broken, the
// client is notified once, and edits are ignored until the client sends the whole text.
func (s *session) didChange(params json.RawMessage) error {
	fields, bad := s.object(params, changeFields)
	return s.changeDocument(fields, bad)
}

// changeDocument applies the changes in the fields of sequence/didChange. bad is the error for these fields,
// or nil; fields is nil if the params could not be parsed.
func (s *session) changeDocument(fields map[string]json.RawMessage, bad error) error {
	uri, err := documentURI(fields)
	if fields == nil {
		err = bad
	}
	if err != nil {
		s.breakDocuments(err)
		return err
	}
	d := s.documents.find(uri)
	switch {
	case d == nil && bad != nil:
		return bad
	case d == nil:
		return unknownDocumentError("uri", uri)
	}
	s.edits++
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed { // the session is ending and has dropped the text
		return nil
	}
	if bad == nil {
		bad = d.change(fields)
	}
	// Stopped in the middle of a change: the partial text must not be used.
	if errors.Is(bad, errStopped) || s.ctx.Err() != nil {
		d.closeLocked()
		return bad
	}
	if bad != nil && d.broken != nil && !s.replacesWholeText(fields["changes"]) {
		return nil // the client was notified before
	}
	if bad != nil {
		return d.markBroken(bad)
	}
	if d.broken == nil {
		d.schedule(s.server.options.Debounce)
	}
	return nil
}

// change applies the changes of a message. The caller holds d.mu.
func (d *document) change(fields map[string]json.RawMessage) error {
	version, err := documentVersion(fields)
	switch {
	case err != nil:
		return err
	case version <= d.version:
		return badParam("version", "expected a version above %d, found %d", d.version, version)
	case fields["changes"] == nil:
		return badParam("changes", "expected a list, found none")
	}
	d.setVersion(version)
	return d.session.runInTurns(len(fields["changes"]), func() error {
		return elements("changes", fields["changes"], func(n int, text json.RawMessage) error {
			if err := d.session.yield(changeWork); err != nil {
				return err
			}
			return d.apply(fmt.Sprintf("changes[%d]", n), text)
		})
	})
}

// replacesWholeText reports whether one of the changes replaces the whole text. A client that sends the
// whole text expects this to repair a broken document, so a refusal is reported again.
func (s *session) replacesWholeText(changes json.RawMessage) (found bool) {
	s.runInTurns(len(changes), func() error {
		return elements("changes", changes, func(_ int, text json.RawMessage) error {
			fields, err := objectFields("", text, changeFieldSet)
			found = found || err == nil && fields["text"] != nil && fields["range"] == nil
			return s.yield(changeWork)
		})
	})
	return found
}

// breakDocuments marks all open documents as broken. It is called for a message that may concern any
// document, because the message or its uri could not be parsed.
func (s *session) breakDocuments(reason error) {
	s.documents.mu.Lock()
	defer s.documents.mu.Unlock()
	s.edits++
	for _, d := range s.documents.open {
		d.mu.Lock()
		if d.broken == nil {
			d.markBroken(reason)
		}
		d.mu.Unlock()
	}
}

// markBroken marks the document as broken, pushes the error instead of a prediction, and returns
// the error. The caller holds d.mu.
func (d *document) markBroken(reason error) error {
	d.setVersion(d.version)
	d.cancelScheduled()
	d.dropText()
	d.broken = fail(codeFailed, changedDocument{"uri", d.uri, &d.version},
		"%s at version %d: %s; send the whole text with a higher version", d.uri,
		d.version, asError(reason).Message)
	if d.session.publishes() {
		d.push(d.session.server.current(), publication{URI: d.uri, Version: d.version,
			read: publishedRead{Error: asError(d.broken)}}, nil)
	}
	return d.broken
}

// apply applies one change. path is its position in the params, for errors. The caller holds d.mu.
func (d *document) apply(path string, params json.RawMessage) error {
	if err := onlyKnown(path, params, changeFieldNames); err != nil {
		return err
	}
	fields, err := objectFields(path, params, changeFieldSet)
	switch {
	case err != nil:
		return err
	case fields["text"] == nil:
		return badParam(path+".text", "expected a string, found none")
	case fields["text"][0] != '"':
		return badParam(path+".text", "expected a string, found %s", jsonlines.Kind(fields["text"]))
	case fields["range"] != nil && d.broken != nil:
		return nil
	case fields["range"] == nil: // drop the old text first, so that memory never holds both
		d.dropText()
		err = d.insert(path+".text", fields["text"], 0, 0)
	default:
		var start, end int
		if start, end, err = d.offsets(path+".range", fields["range"]); err == nil {
			err = d.insert(path+".text", fields["text"], start, end)
		}
	}
	if err == nil && fields["range"] == nil {
		d.broken = nil
	}
	return err
}

// offsets returns the range of a change in the client's unit.
func (d *document) offsets(path string, value json.RawMessage) (start, end int, err error) {
	fields, err := objectFields(path, value, rangeFieldSet)
	switch {
	case err != nil:
		return 0, 0, err
	case fields["start"] == nil || fields["end"] == nil:
		return 0, 0, badParam(path, "expected start and end")
	}
	if err := unmarshal(path+".start", fields["start"], &start, "a whole number"); err != nil {
		return 0, 0, err
	}
	if err := unmarshal(path+".end", fields["end"], &end, "a whole number"); err != nil {
		return 0, 0, err
	}
	if err := d.text.CheckRange(start, end); err != nil {
		return 0, 0, badParam(path, "%v", err)
	}
	return start, end, nil
}

// objectFields returns the fields of an object at a path in the params. A null field counts as missing.
func objectFields(path string, value json.RawMessage, known map[string]bool) (map[string]json.RawMessage, error) {
	fields, err := jsonlines.Object(value, known)
	if err != nil {
		return nil, badParam(path, "%v", err)
	}
	for name, value := range fields {
		if string(value) == "null" {
			delete(fields, name)
		}
	}
	return fields, nil
}
