package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

var changeFields = map[string]bool{"uri": true, "version": true, "changes": true}

// change replaces a range of a document, or all of it.
type change struct {
	Range *offsets `json:"range"`
	Text  *string  `json:"text"`
}

var changeNames = []string{"range", "text"}

type offsets struct {
	Start *int `json:"start"`
	End   *int `json:"end"`
}

// didChange is sequence/didChange: changes applied in order, each to what the one
// before has left. A change that cannot be applied breaks the document, whose
// text is then not the client's any more: that is told once, and what follows is
// passed over until the whole text comes.
func (s *session) didChange(params json.RawMessage) error {
	fields, bad := object("", params, changeFields)
	uri, err := documentURI(fields)
	if fields == nil {
		err = bad
	}
	if err != nil {
		s.loseEdits(err)
		return err
	}
	d := s.documents.find(uri)
	switch {
	case d == nil && bad != nil:
		return bad
	case d == nil:
		return unknownDocument(uri)
	}
	s.edits++
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed { // as the server stops: the text is gone
		return nil
	}
	if bad == nil {
		bad = d.change(fields)
	}
	if bad != nil && d.broken != nil && !bringsWhole(fields["changes"]) {
		return nil // it was told before
	}
	if bad != nil {
		return d.breaks(bad)
	}
	if d.broken == nil {
		d.schedule(s.server.options.Debounce)
	}
	return nil
}

// change makes the changes of a message. The caller holds d.mu.
func (d *document) change(fields map[string]json.RawMessage) error {
	version, err := documentVersion(fields)
	switch {
	case err != nil:
		return err
	case version <= d.version:
		return badParam("version", "expected one above %d, found %d", d.version, version)
	case fields["changes"] == nil:
		return badParam("changes", "it is missing")
	}
	d.renew(version)
	return elements("changes", fields["changes"], func(n int, text json.RawMessage) error {
		if ctx := d.session.ctx; ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return d.apply(fmt.Sprintf("changes[%d]", n), text)
	})
}

// bringsWhole reports whether one of the changes is the whole text, which a client
// that was told to send it must not send for nothing.
func bringsWhole(changes json.RawMessage) bool {
	found := false
	elements("changes", changes, func(_ int, text json.RawMessage) error {
		var c change
		found = found || unmarshalKnown("", text, &c, changeNames...) == nil && c.Range == nil
		return nil
	})
	return found
}

// loseEdits breaks every open document: a message that could not be read may have
// been a change of any.
func (s *session) loseEdits(why error) {
	s.documents.mu.Lock()
	defer s.documents.mu.Unlock()
	s.edits++
	for _, d := range s.documents.open {
		d.mu.Lock()
		if d.broken == nil {
			d.breaks(why)
		}
		d.mu.Unlock()
	}
}

// breaks notes that the document's text is not the client's, tells so in place of
// its class, and returns why. The caller holds d.mu.
func (d *document) breaks(why error) error {
	d.renew(d.version)
	d.quiet()
	d.broken = fail(codeFailed, edited{"uri", d.uri, &d.version}, "%s at version %d: %s; send the whole text, of a version above the last", d.uri, d.version, asError(why).Message)
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
	if err := unmarshalKnown(path, params, &c, changeNames...); err != nil {
		return err
	}
	if c.Text == nil {
		return badParam(path+".text", "it is missing")
	}
	var start position
	end := len(d.text)
	if c.Range != nil {
		if d.broken != nil {
			return nil
		}
		path += ".range"
		if c.Range.Start == nil || c.Range.End == nil {
			return badParam(path, "expected start and end")
		}
		var err error
		if start.at, end, err = d.bytes(*c.Range.Start, *c.Range.End); err != nil {
			return badParam(path, "%v", err)
		}
		start.unit = *c.Range.Start
	}
	text := *c.Text
	if grown := int64(len(text) - (end - start.at)); grown > 0 && !d.session.reserve(grown) {
		return fail(codeBusy, nil, "the server keeps as much as --max-memory allows")
	} else if grown < 0 {
		d.session.release(-grown)
	}
	if d.session.utf16 {
		d.units += units([]byte(text)) - units(d.text[start.at:end])
	}
	if start.at == len(d.text) {
		d.text = append(d.text, text...) // the common case costs what is new
	} else {
		tail := d.text[end:]
		if n := len(text) - (end - start.at); n > 0 {
			d.text = append(d.text, text[:n]...)
			tail = d.text[end : len(d.text)-n]
		}
		copy(d.text[start.at+len(text):], tail)
		copy(d.text[start.at:], text)
		d.text = d.text[:start.at+len(text)+len(tail)]
	}
	d.known = start // what is behind it has moved
	// What is counted is the length: room for what is gone is given back.
	if cap(d.text) > 2*len(d.text)+spareText {
		d.text = slices.Clone(d.text)
	}
	if c.Range == nil {
		d.broken = nil
	}
	return nil
}
