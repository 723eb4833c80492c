package hftokenizer

import (
	"strings"
	"unicode"

	"github.com/dlclark/regexp2/v2"
)

// A splitter splits text into words.
type splitter interface {
	// split splits each of several pieces and drops empty pieces. first reports whether the first
	// piece is at the beginning of the text.
	split(pieces []string, first bool) ([]string, error)
}

// splitters applies several splitters in order.
type splitters []splitter

func (all splitters) split(pieces []string, first bool) ([]string, error) {
	for _, s := range all {
		var err error
		if pieces, err = s.split(pieces, first); err != nil {
			return nil, err
		}
	}
	return pieces, nil
}

// span is a range of bytes of a text; matched reports whether it is a match of the search.
type span struct {
	from, to int
	matched  bool
}

// behaviours maps the names of behaviours to functions that apply them to spans.
var behaviours = map[string]func(spans []span) []span{
	"Isolated": func(spans []span) []span { return spans },
	"Removed": func(spans []span) (kept []span) {
		for _, s := range spans {
			if !s.matched {
				kept = append(kept, s)
			}
		}
		return kept
	},
	"Contiguous": func(spans []span) (out []span) {
		for _, s := range spans {
			if n := len(out); n > 0 && out[n-1].matched == s.matched {
				out[n-1].to = s.to
			} else {
				out = append(out, s)
			}
		}
		return out
	},
	"MergedWithPrevious": func(spans []span) (out []span) {
		previous := false
		for _, s := range spans {
			if n := len(out); n > 0 && s.matched && !previous {
				out[n-1].to = s.to
			} else {
				out = append(out, s)
			}
			previous = s.matched
		}
		return out
	},
	"MergedWithNext": func(spans []span) (out []span) {
		for i, s := range spans {
			if n := len(out); n > 0 && !s.matched && spans[i-1].matched {
				out[n-1].to = s.to
			} else {
				out = append(out, s)
			}
		}
		return out
	},
}

// cut splits pieces of text at matches.
type cut struct {
	find      func(text string) ([]span, error) // spans that cover the whole text, matched or not
	invert    bool
	behaviour func([]span) []span
}

func (c cut) split(pieces []string, _ bool) ([]string, error) {
	out := make([]string, 0, 2*len(pieces))
	for _, text := range pieces {
		spans, err := c.find(text)
		if err != nil {
			return nil, err
		}
		if c.invert {
			for i := range spans {
				spans[i].matched = !spans[i].matched
			}
		}
		for _, s := range c.behaviour(spans) {
			if s.from < s.to {
				out = append(out, text[s.from:s.to])
			}
		}
	}
	return out, nil
}

// findChars returns a search for single characters with a property.
func findChars(has func(r rune) bool) func(text string) ([]span, error) {
	return func(text string) (spans []span, err error) {
		done := 0
		for i, r := range text {
			if !has(r) {
				continue
			}
			to := i + len(string(r))
			spans = append(spans, span{done, i, false}, span{i, to, true})
			done = to
		}
		return dropEmpty(append(spans, span{done, len(text), false})), nil
	}
}

// dropEmpty removes empty spans.
func dropEmpty(spans []span) []span {
	kept := spans[:0]
	for _, s := range spans {
		if s.from < s.to {
			kept = append(kept, s)
		}
	}
	return kept
}

// spansOf returns the spans of the matches and of the text between them. Each element of found is the start
// and the end of a match.
func spansOf(text string, found [][]int) []span {
	spans, done := make([]span, 0, 2*len(found)+1), 0
	for _, at := range found {
		spans = append(spans, span{done, at[0], false}, span{at[0], at[1], true})
		done = at[1]
	}
	return dropEmpty(append(spans, span{done, len(text), false}))
}

// literal returns a search for a fixed text.
func literal(word string) func(text string) ([]span, error) {
	return func(text string) ([]span, error) {
		var found [][]int
		for at := 0; ; {
			i := strings.Index(text[at:], word)
			if i < 0 {
				return spansOf(text, found), nil
			}
			found = append(found, []int{at + i, at + i + len(word)})
			at += i + len(word)
		}
	}
}

// matches returns a search for matches of an expression.
func matches(expression *regexp2.Regexp) func(text string) ([]span, error) {
	return func(text string) ([]span, error) {
		found, err := expression.FindAllStringIndex(text, -1)
		if err != nil {
			return nil, err
		}
		return spansOf(text, found), nil
	}
}

// words finds runs of letters, marks, digits and connectors, and runs of other characters except
// white space.
func words(text string) (spans []span, err error) {
	kind := func(r rune) int {
		switch {
		case unicode.IsSpace(r):
			return 0
		case unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc,
			unicode.Other_Alphabetic, unicode.Join_Control):
			return 1
		}
		return 2
	}
	current := -1
	for i, r := range text {
		if k := kind(r); k != current {
			spans = append(spans, span{i, len(text), k != 0})
			if n := len(spans); n > 1 {
				spans[n-2].to = i
			}
			current = k
		}
	}
	return spans, nil
}

// isPunctuation reports whether r is punctuation in Unicode 8, or a visible ASCII character other than
// letters and digits.
func isPunctuation(r rune) bool {
	// U+111C9 was punctuation in Unicode 8 and is a mark in later versions.
	return r > ' ' && r < 0x7F && !unicode.IsLetter(r) && !unicode.IsDigit(r) ||
		inUnicode8(r, unicode.P) || r == 0x111C9
}

// byteLevel splits text like GPT-2 and then represents each byte by a visible character.
type byteLevel struct {
	space bool     // insert a space before text without a leading space
	cut   splitter // nil means no splitting
}

func (b byteLevel) split(pieces []string, first bool) ([]string, error) {
	var err error
	if b.space {
		for i, text := range pieces {
			if !strings.HasPrefix(text, " ") {
				pieces[i] = " " + text
			}
		}
	}
	if b.cut != nil {
		if pieces, err = b.cut.split(pieces, first); err != nil {
			return nil, err
		}
	}
	var out []byte
	for i, text := range pieces {
		out = out[:0]
		for k := range len(text) {
			out = append(out, charOfByte[text[k]]...)
		}
		pieces[i] = string(out)
	}
	return pieces, nil
}

// charOfByte maps each byte to a visible character; byteOfChar is the inverse.
var charOfByte, byteOfChar = func() (characters [256]string, bytes map[rune]byte) {
	bytes = map[rune]byte{}
	next := rune(256)
	for b := range 256 {
		r := rune(b)
		if !(b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE) {
			r = next
			next++
		}
		characters[b], bytes[r] = string(r), byte(b)
	}
	return characters, bytes
}()

// appendBytes appends the bytes that the characters of a token represent.
func appendBytes(out []byte, token string) []byte {
	for _, r := range token {
		if b, ok := byteOfChar[r]; ok {
			out = append(out, b)
		} else {
			out = append(out, string(r)...)
		}
	}
	return out
}

// metaspace replaces each space by char. With always or first, it also inserts char before text that
// does not begin with char.
type metaspace struct {
	char          string
	always, first bool // insert char before every piece, or only before the first piece of the text
	cut           bool // split into words
}

func (m metaspace) split(pieces []string, first bool) ([]string, error) {
	for i, text := range pieces {
		text = strings.ReplaceAll(text, " ", m.char)
		if !strings.HasPrefix(text, m.char) && (m.always || m.first && first && i == 0) {
			text = m.char + text
		}
		pieces[i] = text
	}
	if !m.cut {
		return pieces, nil
	}
	return cut{find: literal(m.char), behaviour: behaviours["MergedWithNext"]}.split(pieces, first)
}
