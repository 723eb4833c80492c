package serve

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

type changeParams struct {
	URI     string             `json:"uri"`
	Version *int64             `json:"version"`
	Changes *[]json.RawMessage `json:"changes"`
}

// change replaces a range of a document, or all of it.
type change struct {
	Range *offsets `json:"range"`
	Text  *string  `json:"text"`
}

type offsets struct {
	Start *int `json:"start"`
	End   *int `json:"end"`
}

// didChange is sequence/didChange: changes applied in order, each to what the one
// before has left. A change that cannot be applied breaks the document, whose
// text is then not the client's any more: that is told once, and what follows is
// passed over until the whole text comes.
func (s *session) didChange(params json.RawMessage) error {
	var p changeParams
	bad := unmarshal(wholeParams, params, &p, "an object with uri, version and changes")
	if bad == nil && p.Changes == nil {
		bad = badParam("changes", "it is missing")
	}
	d := s.documents.find(p.URI)
	switch {
	case d == nil && bad != nil && p.URI == "":
		s.loseEdits(bad)
		return bad
	case d == nil && bad != nil:
		return bad
	case d == nil:
		return unknownDocument(p.URI)
	}
	s.edits++
	d.mu.Lock()
	defer d.mu.Unlock()
	if bad == nil {
		bad = d.follows(p.Version)
	}
	if bad != nil {
		return d.breaks(bad)
	}
	d.renew(*p.Version)
	for i, text := range *p.Changes {
		if err := d.apply(fmt.Sprintf("changes[%d]", i), text); err != nil {
			return d.breaks(err)
		}
	}
	if d.broken == nil {
		d.schedule()
	}
	return nil
}

// follows checks the version of a change.
func (d *document) follows(version *int64) error {
	switch {
	case version == nil:
		return badParam("version", "it is missing")
	case *version <= d.version:
		return badParam("version", "expected one above %d, found %d", d.version, *version)
	}
	return nil
}

// loseEdits breaks every open document: a message that could not be read may have
// been a change of any.
func (s *session) loseEdits(why error) {
	s.documents.mu.Lock()
	defer s.documents.mu.Unlock()
	s.edits++
	for _, d := range s.documents.open {
		d.mu.Lock()
		d.breaks(why)
		d.mu.Unlock()
	}
}

// breaks notes that the document's text is not the client's, tells so in place of
// its class, and returns why; nil if it was so before. The caller holds d.mu.
func (d *document) breaks(why error) error {
	if d.broken != nil {
		return nil
	}
	d.renew(d.version)
	d.quiet()
	d.broken = fail(codeFailed, edited{"uri", d.uri, d.version}, "%s at version %d: %s; send the whole text", d.uri, d.version, asError(why).Message)
	if d.session.publishes() {
		d.session.notify(publishMethod, published{URI: d.uri, Version: d.version, Error: asError(d.broken)})
	}
	return d.broken
}

// spareText is the room that any document may have beyond twice its length.
const spareText = 4096

// apply makes one change, which is at a path in the parameters. The caller holds
// d.mu.
func (d *document) apply(path string, params json.RawMessage) error {
	var c change
	if err := unmarshalKnown(path, params, &c, "range", "text"); err != nil {
		return err
	}
	if c.Text == nil {
		return badParam(path+".text", "it is missing")
	}
	start, end := 0, len(d.text)
	if c.Range != nil {
		if d.broken != nil {
			return nil
		}
		path += ".range"
		if c.Range.Start == nil || c.Range.End == nil {
			return badParam(path, "expected start and end")
		}
		var err error
		if start, end, err = d.bytes(*c.Range.Start, *c.Range.End); err != nil {
			return badParam(path, "%v", err)
		}
	}
	text := *c.Text
	if grown := int64(len(text) - (end - start)); grown > 0 && !d.session.reserve(grown) {
		return fail(codeBusy, nil, "the server keeps as much as --max-memory allows")
	} else if grown < 0 {
		d.session.release(-grown)
	}
	if d.session.utf16 {
		d.units += units([]byte(text)) - units(d.text[start:end])
	}
	if start == len(d.text) {
		d.text = append(d.text, text...) // the common case costs what is new
	} else {
		tail := d.text[end:]
		if n := len(text) - (end - start); n > 0 {
			d.text = append(d.text, text[:n]...)
			tail = d.text[end : len(d.text)-n]
		}
		copy(d.text[start+len(text):], tail)
		copy(d.text[start:], text)
		d.text = d.text[:start+len(text)+len(tail)]
	}
	// What is counted is the length: room for what is gone is given back.
	if cap(d.text) > 2*len(d.text)+spareText {
		d.text = slices.Clone(d.text)
	}
	if c.Range == nil {
		d.broken = nil
	}
	return nil
}

// bytes turns the range of a change into one of bytes, which must not cut a
// character.
func (d *document) bytes(start, end int) (int, int, error) {
	length, name := len(d.text), "bytes"
	if d.session.utf16 {
		length, name = d.units, "UTF-16 code units"
	}
	if start < 0 || end < start || end > length {
		return 0, 0, fmt.Errorf("expected a range within %d %s, found %d to %d", length, name, start, end)
	}
	if d.session.utf16 {
		from, to := start, end
		if start = d.byteOf(0, 0, from); start < 0 {
			return 0, 0, fmt.Errorf("start %d is within a character", from)
		}
		if end = d.byteOf(start, from, to); end < 0 {
			return 0, 0, fmt.Errorf("end %d is within a character", to)
		}
		return start, end, nil
	}
	for _, at := range []int{start, end} {
		if at < length && !utf8.RuneStart(d.text[at]) {
			return 0, 0, fmt.Errorf("byte %d is within a character", at)
		}
	}
	return start, end, nil
}

// byteOf is the byte at a UTF-16 offset, walking from a byte whose offset is
// known; -1 within a character.
func (d *document) byteOf(at, offset, want int) int {
	if want == d.units {
		return len(d.text) // an append need not walk
	}
	for offset < want {
		if d.text[at] < utf8.RuneSelf {
			at++
			offset++
			continue
		}
		r, size := utf8.DecodeRune(d.text[at:])
		at += size
		offset += unitsOf(r)
	}
	if offset > want {
		return -1
	}
	return at
}
