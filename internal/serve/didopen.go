package serve

import (
	"encoding/json"
	"unicode/utf8"
)

// version is required: a pointer tells what is missing from what is 0.
type openParams struct {
	URI     *string         `json:"uri"`
	Version *int64          `json:"version"`
	Text    *string         `json:"text"`
	Window  json.RawMessage `json:"window"`
}

// didOpen is sequence/didOpen. A document that is open already is replaced.
func (s *session) didOpen(params json.RawMessage) error {
	var p openParams
	err := unmarshal(wholeParams, params, &p, "an object with uri, version and text")
	if p.URI != nil {
		s.closeDocument(*p.URI) // whatever is wrong, the text before is not the client's any more
	}
	switch {
	case err != nil:
		return err
	case p.URI == nil || *p.URI == "":
		return badParam("uri", "it is missing")
	case p.Version == nil:
		return badParam("version", "it is missing")
	case p.Text == nil:
		return badParam("text", "it is missing")
	}
	w, err := parseWindow("window", p.Window)
	if err != nil {
		return err
	}
	s.documents.mu.Lock()
	count := len(s.documents.open)
	s.documents.mu.Unlock()
	if limit := s.server.options.MaxDocuments; count >= limit {
		return fail(codeBusy, nil, "%s: %d documents are open, at most %d may be", *p.URI, count, limit)
	}
	if !s.reserve(int64(len(*p.Text))) {
		return fail(codeBusy, nil, "%s: the server keeps as much as --max-memory allows", *p.URI)
	}
	s.edits++
	d := &document{session: s, uri: *p.URI, window: w, text: []byte(*p.Text)}
	if s.utf16 {
		d.units = units(d.text)
	}
	s.documents.mu.Lock()
	if s.documents.open == nil {
		s.documents.open = map[string]*document{}
	}
	s.documents.open[d.uri] = d
	s.documents.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.renew(*p.Version)
	d.schedule()
	return nil
}

// closeDocument closes a document if it is open.
func (s *session) closeDocument(uri string) bool {
	s.documents.mu.Lock()
	d := s.documents.open[uri]
	delete(s.documents.open, uri)
	s.documents.mu.Unlock()
	if d != nil {
		d.close()
	}
	return d != nil
}

// units is the number of UTF-16 code units of a text.
func units(text []byte) int {
	n := 0
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		n += unitsOf(r)
		text = text[size:]
	}
	return n
}

func unitsOf(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}

// unknownDocument is for what names a document that is not open.
func unknownDocument(uri string) error { return badParam("uri", "no document %q is open", uri) }
