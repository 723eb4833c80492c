package ngram

import (
	"encoding/binary"
	"unicode"
	"unicode/utf8"

	"github.com/zeebo/xxh3"
)

// Extractor hashes the n-grams of rows. It is not safe for concurrent use.
type Extractor struct {
	options Options
	begins  [2][MaxN + 1]uint64
	units   []uint64 // the hashes H(u) of a side's units
	text    []byte   // the bytes of a side
	word    []byte   // a word in lower case
	hashes  []uint64
	seen    distinct
}

// NewExtractor returns an extractor of valid options.
func NewExtractor(o Options) *Extractor {
	x := &Extractor{options: o}
	for side := range x.begins {
		for n := range x.begins[side] {
			x.begins[side][n] = begin(n, side)
		}
	}
	return x
}

// Hashes returns the hash of each n-gram of a row, as often as it occurs: of the tokens a, and of b
// where the row is a pair. With words and bytes a token is a byte plus 1, as the byte tokenizer has it.
// The next call overwrites them.
func (x *Extractor) Hashes(a, b []int32) []uint64 {
	x.hashes = x.hashes[:0]
	x.side(a, 0)
	if len(b) > 0 {
		x.side(b, 1)
	}
	return x.hashes
}

// side appends the hashes of a side's n-grams.
func (x *Extractor) side(tokens []int32, side int) {
	x.units = x.units[:0]
	switch x.options.Units {
	case Words:
		x.words(tokens)
	case Bytes:
		for _, t := range tokens {
			x.units = append(x.units, ofByte[uint8(t-1)])
		}
	default:
		var id [4]byte
		for _, t := range tokens {
			binary.LittleEndian.PutUint32(id[:], uint32(t))
			x.units = append(x.units, xxh3.Hash(id[:]))
		}
	}
	least, begins := x.options.MinN, &x.begins[side]
	for i := range x.units {
		h := uint64(0)
		for k, u := range x.units[i:min(i+x.options.MaxN, len(x.units))] {
			h = h*multiplier + u
			if n := k + 1; n >= least {
				x.hashes = append(x.hashes, mix(h+begins[n]))
			}
		}
	}
}

// ofByte has H of each single byte.
var ofByte = func() (out [256]uint64) {
	for i := range out {
		out[i] = xxh3.Hash([]byte{byte(i)})
	}
	return out
}()

// What an ASCII character is.
const (
	space  = iota
	sign   // a unit of its own
	letter // or digit
)

var ascii = func() (out [utf8.RuneSelf]uint8) {
	for r := range rune(utf8.RuneSelf) {
		switch {
		case ofWord(r):
			out[r] = letter
		case !unicode.IsSpace(r):
			out[r] = sign
		}
	}
	return out
}()

// ofWord reports whether a character stands together with others in a word.
func ofWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// words appends the hashes of a text's units. A byte that is not of UTF-8 is a unit of its own.
func (x *Extractor) words(tokens []int32) {
	text := x.text[:0]
	for _, t := range tokens {
		text = append(text, byte(t-1))
	}
	x.text = text
	word := x.word[:0]
	end := func() {
		if len(word) > 0 {
			x.units = append(x.units, xxh3.Hash(word))
			word = word[:0]
		}
	}
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			i++
			switch ascii[c] {
			case letter:
				if 'A' <= c && c <= 'Z' {
					c += 'a' - 'A'
				}
				word = append(word, c)
			case sign:
				end()
				x.units = append(x.units, ofByte[c])
			default:
				end()
			}
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			end()
			x.units = append(x.units, ofByte[text[i]])
		case ofWord(r):
			word = utf8.AppendRune(word, unicode.ToLower(r))
		default:
			end()
			if !unicode.IsSpace(r) {
				x.units = append(x.units, xxh3.Hash(text[i:i+size]))
			}
		}
		i += size
	}
	end()
	x.word = word
}
