package serve

import (
	"fmt"
	"unicode/utf8"
)

// length is that of the text, in what the client counts.
func (d *document) length() int {
	if d.session.utf16 {
		return d.text.Units()
	}
	return d.text.Len()
}

// within checks the range of a change. In bytes it must not cut a character. In UTF-16 it
// may: editors type and delete characters by halves.
func (d *document) within(start, end int) error {
	length, name := d.length(), "bytes"
	if d.session.utf16 {
		name = "UTF-16 code units"
	}
	if start < 0 || end < start || end > length {
		return fmt.Errorf("expected a range within %d %s, found %d to %d", length, name, start, end)
	}
	for _, at := range []int{start, end} {
		if !d.session.utf16 && at < length && !utf8.RuneStart(d.text.Byte(at)) {
			return fmt.Errorf("byte %d is within a character", at)
		}
	}
	return nil
}
