package rope

import (
	"fmt"
	"unicode/utf8"
)

// Unit is the unit of offsets.
type Unit int

// The units.
const (
	Bytes      Unit = iota
	UTF16           // code units
	Characters      // Unicode characters
)

// String names the unit in errors.
func (u Unit) String() string { return [...]string{"bytes", "UTF-16 code units", "characters"}[u] }

// Text is a rope whose offsets count one unit.
type Text struct {
	Rope
	Unit Unit
}

// Length returns the length in this unit.
func (t *Text) Length() int {
	switch t.Unit {
	case UTF16:
		return t.Units()
	case Characters:
		return t.Rope.Characters()
	}
	return t.Len()
}

// Within checks a range that is to be replaced. In bytes it must not split a character. In UTF-16
// it may: editors insert and delete single surrogates.
func (t *Text) Within(start, end int) error {
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

// Edit replaces the range from start to end, which Within has accepted, by text in WTF-8. It
// returns the position after the text.
func (t *Text) Edit(start, end int, text []byte) (behind int) {
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
