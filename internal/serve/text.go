package serve

import (
	"encoding/json"
	"errors"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/rope"
)

// insert replaces the range [start, end) of the text, in the client's unit, with a JSON string. path is
// the string's position in the params, for errors. After an error, a part of the string may have been
// inserted. The caller holds d.mu.
func (d *document) insert(path string, value json.RawMessage, start, end int) error {
	offset := 0 // offset in the string
	for text := range jsonlines.Chunks(value, yieldWork) {
		if err := d.session.yield(len(text)); err != nil {
			return err
		}
		if lone := rope.LoneSurrogate(text); lone >= 0 && d.text.Unit != rope.UTF16 {
			return badParam(path, "%v", jsonlines.Lone(text, lone, offset))
		}
		offset += len(text)
		start = d.text.Edit(start, end, text)
		end = start
		if !d.updateReservation() {
			return errors.Join(errMemory, fail(codeBusy, nil, "the server has reached --max-memory"))
		}
	}
	return nil
}

// updateReservation adjusts the reserved memory to the size of the text. It returns false if the
// session may not reserve more.
func (d *document) updateReservation() bool {
	more := int64(d.text.Allocated()) - d.reservedBytes
	if more > 0 && !d.session.reserve(more) {
		return false
	}
	if more < 0 {
		d.session.release(-more)
	}
	d.reservedBytes += more
	return true
}

// dropText releases the text and its tokens. The caller holds d.mu.
func (d *document) dropText() {
	d.takeEncoded()
	d.text.Rope = rope.Rope{}
	d.updateReservation()
}

// read returns a copy of the text. It returns an error if the text has a lone surrogate, or if c cannot
// reserve memory for the copy. The caller holds d.mu.
func (d *document) read(c *call, field string) (text string, err error) {
	if offset := d.text.FirstLoneSurrogate(); offset >= 0 {
		return "", badParam(field,
			"the UTF-16 code unit at offset %d is a lone surrogate", offset)
	}
	if err := c.reserve(int64(d.text.Len())); err != nil {
		return "", err
	}
	// Copy without a turn, even many MiB: waiting for a turn with d.mu held would block the
	// session's next edit and all later messages of its client.
	return d.text.String(), nil
}
