// Ropes contain WTF-8 (Sapin, https://simonsapin.github.io/wtf-8/). WTF-8 is UTF-8 in which lone
// surrogates, which UTF-16 text may contain, are encoded in three bytes. A high surrogate before a
// low surrogate is always stored as the character that they encode, in four bytes.

package rope

import (
	"unicode/utf16"
	"unicode/utf8"
)

// SurrogateBytes is the length of an encoded surrogate.
const SurrogateBytes = 3

// Surrogate returns the surrogate at the beginning of text, or -1.
func Surrogate(text []byte) rune {
	if len(text) < SurrogateBytes || text[0] != 0xED || text[1] < 0xA0 {
		return -1
	}
	return 0xD000 | rune(text[1]&0x3F)<<6 | rune(text[2]&0x3F)
}

// IsHigh reports whether r is a high surrogate.
func IsHigh(r rune) bool { return r>>10 == 0xD800>>10 }

// IsLow reports whether r is a low surrogate.
func IsLow(r rune) bool { return r>>10 == 0xDC00>>10 }

// AppendSurrogate appends an encoded surrogate. Unlike [AppendText] it does not join a pair.
func AppendSurrogate(text []byte, surrogate rune) []byte {
	return append(text, 0xED, 0x80|byte(surrogate>>6)&0x3F, 0x80|byte(surrogate)&0x3F)
}

// AppendText appends a second text to a first. If the first ends with a high surrogate and the second
// begins with a low surrogate, the pair becomes one character.
func AppendText(text, more []byte) []byte {
	high, low := LastSurrogate(text), Surrogate(more)
	if !IsHigh(high) || !IsLow(low) {
		return append(text, more...)
	}
	text = utf8.AppendRune(text[:len(text)-SurrogateBytes], utf16.DecodeRune(high, low))
	return append(text, more[SurrogateBytes:]...)
}

// LastSurrogate returns the surrogate at the end of text, or -1.
func LastSurrogate(text []byte) rune { return Surrogate(text[max(0, len(text)-SurrogateBytes):]) }

// LoneSurrogate returns the byte offset of the first surrogate in text, or -1 if text is UTF-8.
func LoneSurrogate(text []byte) int {
	for at, c := range text {
		if c == 0xED && Surrogate(text[at:]) >= 0 {
			return at
		}
	}
	return -1
}

// CharacterLength returns the length in bytes and in UTF-16 code units of a character with the
// given first byte.
func CharacterLength(first byte) (bytes, units int) {
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
