package tokenizers

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// Offset is the position of a token in its text: the bytes Start … End−1.
type Offset struct{ Start, End int }

// Offsets returns the position of each token of text, or the error of [HasOffsets].
func Offsets(t Tokenizer, text string) ([]Offset, error) {
	if err := HasOffsets(t); err != nil {
		return nil, err
	}
	var out []Offset
	switch t.(type) {
	case *Words:
		eachWordRange(text, func(start, end int) { out = append(out, Offset{start, end}) })
		return out, nil
	case DNA:
		for i := range len(text) {
			if baseValues[text[i]] != noBase {
				out = append(out, Offset{i, i + 1})
			}
		}
		return out, nil
	}
	for i := range len(text) {
		out = append(out, Offset{i, i + 1})
	}
	return out, nil
}

// HasOffsets returns nil if [Offsets] supports t. Otherwise the error states the reason, for example that
// tokens overlap.
func HasOffsets(t Tokenizer) error {
	switch t := t.(type) {
	case Byte, *Words:
		return nil
	case DNA:
		if t.K == 1 {
			return nil
		}
		return fmt.Errorf("tokenizer dna:%d: overlapping tokens of %d bases have no separate offsets: expected dna:1", t.K, t.K)
	case nil:
		return errors.New("token ids have no text")
	}
	return fmt.Errorf("tokenizer %s: token offsets are not supported: expected byte, words or dna:1",
		t.Type())
}

// Characters converts between byte positions and character positions of a text. Positions must be
// queried in ascending order.
type Characters struct {
	text     string
	position int // current byte position
	n        int // number of characters before the current byte
}

// NewCharacters returns a Characters for text.
func NewCharacters(text string) *Characters { return &Characters{text: text} }

// Before returns the number of characters that begin before a byte position.
func (c *Characters) Before(at int) int {
	for c.position < at && c.position < len(c.text) {
		_, size := utf8.DecodeRuneInString(c.text[c.position:])
		c.position += size
		c.n++
	}
	return c.n
}

// Byte returns the byte position at which a character begins. The end of the text counts as the
// beginning of one further character. Byte returns false for later characters.
func (c *Characters) Byte(character int) (int, bool) {
	for c.n < character && c.position < len(c.text) {
		_, size := utf8.DecodeRuneInString(c.text[c.position:])
		c.position += size
		c.n++
	}
	return c.position, c.n == character
}
