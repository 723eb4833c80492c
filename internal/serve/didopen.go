package serve

import (
	"encoding/json"
	"errors"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/rope"
)

var openFields = newFieldSet("uri", "version", "text", "window")

// didOpen implements sequence/didOpen. An open document that has the same URI is closed first.
func (s *session) didOpen(params json.RawMessage) error {
	fields, bad := s.object(params, openFields)
	return s.openDocument(fields, bad, false)
}

// openDocument opens the document that the fields of sequence/didOpen describe. editor is true for an
// editor, which gets diagnostics. bad is the error for these fields, or nil; fields is nil if the params
// could not be parsed.
func (s *session) openDocument(fields map[string]json.RawMessage, bad error, editor bool) error {
	uri, err := documentURI(fields)
	if fields == nil {
		err = bad
	}
	if err != nil {
		s.breakDocuments(err) // the message may concern any document
		return err
	}
	s.closeDocument(uri) // even if another field is bad, the old text is outdated
	if bad != nil {
		return bad
	}
	version, err := documentVersion(fields)
	if err != nil {
		return err
	}
	text := fields["text"]
	switch {
	case text == nil:
		return badParam("text", "expected a string, found none")
	case text[0] != '"':
		return badParam("text", "expected a string, found %s", jsonlines.Kind(text))
	}
	w, err := parseWindow("window", fields["window"])
	if err != nil {
		return err
	}
	model := s.server.current()
	if model.config.HasFeatures() {
		return badParam("text", featuresOnly+": expected no document")
	}
	if w != nil && !model.task.HasWindows() {
		return badParam("window", "%s", model.windowRefusal())
	}
	s.documents.mu.Lock()
	count := len(s.documents.open)
	s.documents.mu.Unlock()
	if limit := s.server.options.MaxDocuments; count >= limit {
		return fail(codeBusy, nil, "%s: %d documents are open, expected at most %d", uri, count, limit)
	}
	d := &document{session: s, uri: uri, editor: editor, window: w, text: rope.Text{Unit: s.unit}}
	if err := s.runInTurns(len(text), func() error { return d.insert("text", text, 0, 0) }); err != nil {
		d.dropText()
		if errors.Is(err, errMemory) {
			return fail(codeBusy, nil, "%s: %s", uri, asError(err).Message)
		}
		return err
	}
	s.edits++
	s.documents.mu.Lock()
	if s.documents.open == nil {
		s.documents.open = map[string]*document{}
	}
	d.setVersion(version) // must precede adding the document to the map
	s.documents.open[d.uri] = d
	s.documents.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.schedule(s.server.options.Debounce)
	}
	return nil
}

// documentURI returns the field uri, which must be a string that is not empty.
func documentURI(fields map[string]json.RawMessage) (string, error) {
	var uri string
	if fields["uri"] == nil {
		return "", badParam("uri", "expected a string, found none")
	}
	if err := unmarshal("uri", fields["uri"], &uri, "a string"); err != nil {
		return "", err
	}
	if uri == "" {
		return "", badParam("uri", "expected a name, found an empty string")
	}
	return uri, nil
}

// documentVersion returns the field version, which must be a whole number.
func documentVersion(fields map[string]json.RawMessage) (int64, error) {
	if fields["version"] == nil {
		return 0, badParam("version", "expected a whole number, found none")
	}
	var version int64
	return version, unmarshal("version", fields["version"], &version, "a whole number")
}

// openAdvice ends the error for a document that is not open.
const openAdvice = "open it with sequence/didOpen"

// unknownDocumentError is the error for a document that is not open.
func unknownDocumentError(field, uri string) error {
	return badParam(field, "no document %q is open: %s", uri, openAdvice)
}
