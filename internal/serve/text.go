package serve

import (
	"encoding/json"
	"errors"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/rope"
)

// insert puts the JSON string at a path in the place of what is from start to end, in
// what the client counts. Where it fails, a part may be there. The caller holds d.mu.
func (d *document) insert(path string, value json.RawMessage, start, end int) error {
	at := 0 // in the string
	for text := range jsonlines.Chunks(value, yieldWork) {
		if err := d.session.yield(len(text)); err != nil {
			return err
		}
		if lone := rope.LoneSurrogate(text); lone >= 0 && d.text.Unit != rope.UTF16 {
			return badParam(path, "%v", jsonlines.Lone(text, lone, at))
		}
		at += len(text)
		start = d.text.Edit(start, end, text)
		end = start
		if !d.hold() {
			return errors.Join(errMemory, fail(codeBusy, nil, "the server keeps as much as --max-memory allows"))
		}
	}
	return nil
}

// hold has the memory that the text takes counted; false if there is not enough.
func (d *document) hold() bool {
	more := int64(d.text.Room()) - d.held
	if more > 0 && !d.session.reserve(more) {
		return false
	}
	if more < 0 {
		d.session.release(-more)
	}
	d.held += more
	return true
}

// drop gives the text up. The caller holds d.mu.
func (d *document) drop() {
	d.text.Rope = rope.Rope{}
	d.hold()
}

// read is the text as a model reads it, which a document of half a character is not.
// The caller holds d.mu.
func (d *document) read(c *call, field string) (text string, err error) {
	if at := d.text.LoneHalf(); at >= 0 {
		return "", badParam(field,
			"the UTF-16 code unit at offset %d is half of a surrogate pair without the other", at)
	}
	if err := c.reserve(int64(d.text.Len())); err != nil {
		return "", err
	}
	// Not in a turn, though it may be many MiB: while this waited for one, d.mu would have
	// the session's next edit wait, and all that its client sends behind it.
	return d.text.String(), nil
}
