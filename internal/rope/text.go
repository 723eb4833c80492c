package rope

import (
	"fmt"
	"unicode/utf8"
)

// Unit is the unit of offsets.
type Unit int

// Units of offsets.
const (
	Bytes      Unit = iota
	UTF16           // code units
	Characters      // Unicode characters
)

// String returns the name of the unit for errors.
func (u Unit) String() string { return [...]string{"bytes", "UTF-16 code units", "characters"}[u] }

// Text is a rope with offsets in a given unit.
type Text struct {
	Rope
	Unit Unit
}

// Length returns the length of the text in its unit.
func (t *Text) Length() int {
	switch t.Unit {
	case UTF16:
		return t.Units()
	case Characters:
		return t.Rope.Characters()
	}
	return t.Len()
}

// CheckRange returns an error if the range start … end−1 cannot be replaced. A range in bytes must not
// split a character. A range in UTF-16 code units may, because editors insert and delete single
// surrogates.
func (t *Text) CheckRange(start, end int) error {
	length := t.Length()
	if start < 0 || end < start || end > length {
		return fmt.Errorf("expected a range within %d %v, found %d to %d", length, t.Unit, start, end)
	}
	for _, at := range []int{start, end} {
		if t.Unit == Bytes && at < length && !utf8.RuneStart(t.Byte(at)) {
			return fmt.Errorf("byte %d is within a character", at)
		}
	}
	return nil
}

// Edit replaces the range start … end−1, which CheckRange must have accepted, by text in WTF-8. It
// returns the position after the inserted text.
func (t *Text) Edit(start, end int, text []byte) (after int) {
	before := t.Length()
	switch t.Unit {
	case UTF16:
		t.ReplaceUnits(start, end, text)
	case Characters:
		t.Replace(t.characterAt(start), t.characterAt(end), text)
	default:
		t.Replace(start, end, text)
	}
	return end + t.Length() - before
}
