package serve

import "encoding/json"

var closeFields = newFieldSet("uri")

// didClose implements sequence/didClose.
func (s *session) didClose(params json.RawMessage) error {
	fields, bad := s.object(params, closeFields)
	return s.closeDocumentByURI(fields, bad)
}

// closeDocumentByURI closes the document that the fields of sequence/didClose name. bad is the error for
// these fields, or nil; it does not prevent the closing of a document with a valid URI.
func (s *session) closeDocumentByURI(fields map[string]json.RawMessage, bad error) error {
	if fields == nil {
		return bad
	}
	uri, err := documentURI(fields)
	switch {
	case err != nil:
		return err
	case !s.closeDocument(uri):
		return unknownDocumentError("uri", uri)
	}
	return bad
}

// closeDocument closes a document. It returns false if the document is not open.
func (s *session) closeDocument(uri string) bool {
	s.documents.mu.Lock()
	d := s.documents.open[uri]
	if d != nil {
		s.edits++
		s.documents.lastClose = s.edits
		delete(s.documents.open, uri)
	}
	s.documents.mu.Unlock()
	if d != nil {
		d.close()
	}
	return d != nil
}
