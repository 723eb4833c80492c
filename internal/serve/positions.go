package serve

import (
	"fmt"
	"unicode/utf8"
)

// position is a place in a text: in bytes, and in UTF-16 code units, if the client
// counts these.
type position struct{ at, unit int }

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
		from, to := d.byteOf(start), d.byteOf(end)
		switch {
		case from < 0:
			return 0, 0, fmt.Errorf("start %d is within a character", start)
		case to < 0:
			return 0, 0, fmt.Errorf("end %d is within a character", end)
		}
		return from, to, nil
	}
	for _, at := range []int{start, end} {
		if at < length && !utf8.RuneStart(d.text[at]) {
			return 0, 0, fmt.Errorf("byte %d is within a character", at)
		}
	}
	return start, end, nil
}

// byteOf is the byte at a UTF-16 offset, or -1 within a character. It walks there
// from the nearest place that is known: changes are near each other.
func (d *document) byteOf(want int) int {
	p := position{}
	for _, q := range []position{d.known, {len(d.text), d.units}} {
		if distance(q.unit, want) < distance(p.unit, want) {
			p = q
		}
	}
	for p.unit < want {
		r, size := utf8.DecodeRune(d.text[p.at:])
		p.at, p.unit = p.at+size, p.unit+unitsOf(r)
	}
	for p.unit > want {
		r, size := utf8.DecodeLastRune(d.text[:p.at])
		p.at, p.unit = p.at-size, p.unit-unitsOf(r)
	}
	if p.unit != want {
		return -1
	}
	d.known = p
	return p.at
}

func distance(a, b int) int { return max(a-b, b-a) }

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
