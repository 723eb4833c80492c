// Package wtf8 is UTF-8 for texts of UTF-16 code units that need not be Unicode: half of a
// surrogate pair that stands alone is three bytes, as UTF-8 would have it if it could. Two
// halves that meet are one character, of four bytes.
package wtf8

import (
	"unicode/utf16"
	"unicode/utf8"
)

// HalfBytes is the length of a half.
const HalfBytes = 3

// Half is the half that a text begins with, or -1.
func Half(text []byte) rune {
	if len(text) < HalfBytes || text[0] != 0xED || text[1] < 0xA0 {
		return -1
	}
	return 0xD000 | rune(text[1]&0x3F)<<6 | rune(text[2]&0x3F)
}

// First reports whether a half is the first one of a pair, and Second the second.
func First(half rune) bool  { return half>>10 == 0xD800>>10 }
func Second(half rune) bool { return half>>10 == 0xDC00>>10 }

// AppendHalf appends a half to a text whose last one it does not meet.
func AppendHalf(text []byte, half rune) []byte {
	return append(text, 0xED, 0x80|byte(half>>6)&0x3F, 0x80|byte(half)&0x3F)
}

// Append appends more to a text. Halves that meet there are joined.
func Append(text, more []byte) []byte {
	first, second := Last(text), Half(more)
	if !First(first) || !Second(second) {
		return append(text, more...)
	}
	text = utf8.AppendRune(text[:len(text)-HalfBytes], utf16.DecodeRune(first, second))
	return append(text, more[HalfBytes:]...)
}

// Last is the half that a text ends in, or -1.
func Last(text []byte) rune { return Half(text[max(0, len(text)-HalfBytes):]) }

// Lone is the byte at which the first half in a text stands, or -1 if the text is UTF-8.
func Lone(text []byte) int {
	for at, c := range text {
		if c == 0xED && Half(text[at:]) >= 0 {
			return at
		}
	}
	return -1
}

// Character is the length of a character by its first byte, in bytes and in UTF-16 code
// units.
func Character(first byte) (bytes, units int) {
	switch {
	case first < utf8.RuneSelf:
		return 1, 1
	case first < 0xE0:
		return 2, 1
	case first < 0xF0:
		return 3, 1
	}
	return 4, 2
}
