package ngram

import (
	"encoding/binary"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/zeebo/xxh3"
)

// Extractor hashes the n-grams of rows. It is not safe for concurrent use.
type Extractor struct {
	options Options
	begins  [2][MaxN + 1]uint64 // begin(n, 0, side), by side and n
	words   [2][MaxN + 1]uint64 // begin(n, MaxN, side), for n-grams of words combined with bytes
	units   []uint64            // hashes H(u) of a side's units
	starts  []int32             // index of the first byte of each unit, for words
	ends    []int32             // index after the last byte of each unit, for words
	text    []byte              // bytes of a side
	word    []byte              // current word in lower case
	long    *xxh3.Hasher        // beginning of a long word, whose rest is in word; usually nil
	hashes  []uint64
	seen    distinct
}

// NewExtractor returns an extractor for valid options.
func NewExtractor(o Options) *Extractor {
	x := &Extractor{options: o}
	for side := range x.begins {
		for n := range x.begins[side] {
			x.begins[side][n], x.words[side][n] = begin(n, 0, side), begin(n, MaxN, side)
		}
	}
	return x
}

// Hashes returns the hash of each occurrence of an n-gram in a row. The row has the tokens a, and a
// pair also has b. With units of words or bytes, a token is a byte plus 1, as in the byte
// tokenizer. The next call overwrites the result.
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
	x.split(tokens)
	x.append(x.options.MinN, x.options.MaxN, &x.begins[side])
	if x.options.MaxWords > 0 {
		x.splitWords(tokens)
		x.append(1, x.options.MaxWords, &x.words[side])
	}
}

// append appends the hashes of the n-grams of minN to maxN units.
func (x *Extractor) append(minN, maxN int, begins *[MaxN + 1]uint64) {
	for i := range x.units {
		h := uint64(0)
		for k, u := range x.units[i:min(i+maxN, len(x.units))] {
			h = h*Multiplier + u
			if n := k + 1; n >= minN {
				x.hashes = append(x.hashes, mix(h+begins[n]))
			}
		}
	}
}

// Ending returns the hashes of a sequence's n-grams by the token at which they end. Units must be
// Bytes or Tokens. Each token has [Options.Orders] hashes, one per n-gram length. A hash is 0 if no
// n-gram of its length ends at the token. The hashes equal the hashes of the first side of a pair. The
// next call overwrites the result.
func (x *Extractor) Ending(tokens []int32) []uint64 {
	o, groups := &x.options, x.options.Orders()
	x.hashes = slices.Grow(x.hashes[:0], len(tokens)*groups)[:len(tokens)*groups]
	clear(x.hashes)
	x.split(tokens)
	for i := range x.units {
		h := uint64(0)
		for k, u := range x.units[i:min(i+o.MaxN, len(x.units))] {
			h = h*Multiplier + u
			if n := k + 1; n >= o.MinN {
				x.hashes[(i+k)*groups+n-o.MinN] = mix(h + x.begins[0][n])
			}
		}
	}
	if o.MaxWords == 0 {
		return x.hashes
	}
	x.splitWords(tokens)
	for i := range x.units {
		h := uint64(0)
		for k, u := range x.units[i:min(i+o.MaxWords, len(x.units))] {
			h = h*Multiplier + u
			x.hashes[(int(x.ends[i+k])-1)*groups+o.MaxN-o.MinN+1+k] = mix(h + x.words[0][k+1])
		}
	}
	return x.hashes
}

// split sets the hashes of a side's units.
func (x *Extractor) split(tokens []int32) {
	x.units = x.units[:0]
	switch x.options.Units {
	case Words:
		x.splitWords(tokens)
	case Bytes:
		for _, t := range tokens {
			if t == 0 {
				x.units = append(x.units, noByte)
				continue
			}
			c := uint8(t - 1)
			if 'A' <= c && c <= 'Z' && x.options.MaxWords > 0 {
				c += 'a' - 'A'
			}
			x.units = append(x.units, byteHashes[c])
		}
	default:
		var id [4]byte
		for _, t := range tokens {
			binary.LittleEndian.PutUint32(id[:], uint32(t))
			x.units = append(x.units, xxh3.Hash(id[:]))
		}
	}
}

// UnitHashes returns H(u) of each id below n. An id is a token or, with units of bytes, a byte plus
// 1. With units of bytes, maxWords > 0 folds the case of ASCII letters.
func UnitHashes(units string, maxWords, n int) []uint64 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(i)
	}
	x := NewExtractor(Options{Units: units, MaxWords: maxWords})
	x.split(ids)
	return x.units
}

// noByte is H(u) of the id 0, which is not a byte: the hash of an empty text.
var noByte = xxh3.Hash(nil)

// byteHashes holds H(u) of each single byte.
var byteHashes = func() (out [256]uint64) {
	for i := range out {
		out[i] = xxh3.Hash([]byte{byte(i)})
	}
	return out
}()

// Kinds of ASCII characters.
const (
	space  = iota
	symbol // a unit by itself
	letter // letter or digit
)

var ascii = func() (out [utf8.RuneSelf]uint8) {
	for r := range rune(utf8.RuneSelf) {
		switch {
		case isWordCharacter(r):
			out[r] = letter
		case !unicode.IsSpace(r):
			out[r] = symbol
		}
	}
	return out
}()

// isWordCharacter reports whether a character is part of a word.
func isWordCharacter(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// splitWords sets the hashes of a text's words and other characters, and their positions. A byte that is not valid
// UTF-8 is a unit of its own.
func (x *Extractor) splitWords(tokens []int32) {
	x.units, x.starts, x.ends, x.word = x.units[:0], x.starts[:0], x.ends[:0], x.word[:0]
	x.addWords(tokens, false)
}

// addWords appends the units of the next part of a text and their positions. The part continues the word in x.word.
// If more parts follow, a word at the end of the part remains in x.word. addWords returns the number of bytes read: all
// bytes except, if more parts follow, an incomplete character at the end.
func (x *Extractor) addWords(tokens []int32, more bool) (read int) {
	text := x.text[:0]
	for _, t := range tokens {
		text = append(text, byte(t-1))
	}
	x.text = text
	word, wordStart := x.word, 0 // current word and position of its first byte
	unit := func(hash uint64, start, end int) {
		x.units, x.starts, x.ends = append(x.units, hash), append(x.starts, int32(start)), append(x.ends, int32(end))
	}
	endWord := func(end int) {
		if len(word) > 0 {
			unit(x.wordHash(word), wordStart, end)
			word = word[:0]
		}
	}
	i := 0
	for i < len(text) {
		if len(word) == 0 {
			wordStart = i
		}
		if c := text[i]; c < utf8.RuneSelf {
			switch ascii[c] {
			case letter:
				if 'A' <= c && c <= 'Z' {
					c += 'a' - 'A'
				}
				word = append(word, c)
			case symbol:
				endWord(i)
				unit(byteHashes[c], i, i+1)
			default:
				endWord(i)
			}
			i++
			continue
		}
		if more && !utf8.FullRune(text[i:]) {
			break
		}
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			endWord(i)
			hash := byteHashes[text[i]]
			if tokens[i] == 0 {
				hash = noByte
			}
			unit(hash, i, i+1)
		case isWordCharacter(r):
			word = utf8.AppendRune(word, unicode.ToLower(r))
		default:
			endWord(i)
			if !unicode.IsSpace(r) {
				unit(xxh3.Hash(text[i:i+size]), i, i+size)
			}
		}
		i += size
	}
	if !more {
		endWord(len(text))
	}
	x.word = word
	return i
}
