package rope

import (
	"fmt"
	"unicode/utf8"
)

// Text is a rope for who counts in one unit: bytes, or UTF-16 code units.
type Text struct {
	Rope
	UTF16 bool
}

// Length is that of the text in its unit.
func (t *Text) Length() int {
	if t.UTF16 {
		return t.Units()
	}
	return t.Len()
}

// Within checks a range that is to be replaced. In bytes it must not cut a character. In
// UTF-16 it may: editors type and delete characters by halves.
func (t *Text) Within(start, end int) error {
	length, name := t.Length(), "bytes"
	if t.UTF16 {
		name = "UTF-16 code units"
	}
	if start < 0 || end < start || end > length {
		return fmt.Errorf("expected a range within %d %s, found %d to %d", length, name, start, end)
	}
	for _, at := range []int{start, end} {
		if !t.UTF16 && at < length && !utf8.RuneStart(t.Byte(at)) {
			return fmt.Errorf("byte %d is within a character", at)
		}
	}
	return nil
}

// Edit puts text, which is WTF-8, in the place of what is from start to end, a range within
// which Within has found nothing wrong. It returns the place behind the text.
func (t *Text) Edit(start, end int, text []byte) (behind int) {
	before := t.Length()
	if t.UTF16 {
		t.ReplaceUnits(start, end, text)
	} else {
		t.Replace(start, end, text)
	}
	return end + t.Length() - before
}
