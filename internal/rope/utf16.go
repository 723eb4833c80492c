package rope

import (
	"unicode/utf16"
	"unicode/utf8"
)

// ReplaceUnits is like [Rope.Replace] for positions in UTF-16 code units. A position within a
// character splits the character into surrogates. A high surrogate before a low surrogate becomes a
// character.
func (r *Rope) ReplaceUnits(start, end int, text []byte) {
	from, cutStart := r.byteOffset(start)
	to, cutEnd := r.byteOffset(end)
	var head, tail []byte // remaining surrogates of split characters, and adjacent surrogates
	if cutStart {
		high, _ := utf16.EncodeRune(r.rune(from))
		head = AppendSurrogate(nil, high)
	} else if h := r.loneSurrogateAt(from - SurrogateBytes); IsHigh(h) {
		from -= SurrogateBytes
		head = AppendSurrogate(nil, h)
	}
	if cutEnd {
		_, low := utf16.EncodeRune(r.rune(to))
		tail = AppendSurrogate(nil, low)
		to += utf8.UTFMax
	} else if h := r.loneSurrogateAt(to); IsLow(h) {
		to += SurrogateBytes
		tail = AppendSurrogate(nil, h)
	}
	if head != nil || tail != nil {
		text = AppendText(AppendText(head, text), tail)
	}
	r.Replace(from, to, text)
}

// byteOffset returns the byte offset of the character at a UTF-16 offset. The result within reports
// whether the UTF-16 offset is in the middle of the character.
func (r *Rope) byteOffset(unit int) (offset int, within bool) {
	n := r.root
	if n == nil {
		return 0, false
	}
	for n.left != nil {
		if unit < n.left.units {
			n = n.left
		} else {
			offset, unit, n = offset+n.left.bytes, unit-n.left.units, n.right
		}
	}
	if n.units == n.bytes { // all characters have one byte
		return offset + unit, false
	}
	for text := n.text; unit > 0; {
		bytes, units := CharacterLength(text[0])
		if unit < units {
			return offset, true
		}
		text, offset, unit = text[bytes:], offset+bytes, unit-units
	}
	return offset, false
}

// rune returns the four-byte character at a byte offset.
func (r *Rope) rune(at int) rune {
	var text [utf8.UTFMax]byte
	for i := range text {
		text[i] = r.Byte(at + i)
	}
	c, _ := utf8.DecodeRune(text[:])
	return c
}

// loneSurrogateAt returns the lone surrogate at a byte offset, or -1.
func (r *Rope) loneSurrogateAt(at int) rune {
	if r.root.measured().loneSurrogates == 0 || at < 0 || at+SurrogateBytes > r.Len() {
		return -1
	}
	var text [SurrogateBytes]byte
	for i := range text {
		text[i] = r.Byte(at + i)
	}
	return Surrogate(text[:])
}

// FirstLoneSurrogate returns the UTF-16 offset of the first lone surrogate, or -1 if the text is UTF-8.
func (r *Rope) FirstLoneSurrogate() int {
	n, unit := r.root, 0
	if n.measured().loneSurrogates == 0 {
		return -1
	}
	for n.left != nil {
		if n.left.loneSurrogates > 0 {
			n = n.left
		} else {
			unit, n = unit+n.left.units, n.right
		}
	}
	for text := n.text; Surrogate(text) < 0; {
		bytes, units := CharacterLength(text[0])
		text, unit = text[bytes:], unit+units
	}
	return unit
}
