package hftokenizer

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/rangetable"
)

// A normalizer rewrites text before it is split into words.
type normalizer interface {
	normalize(text string) (string, error)
}

// normalizers applies several normalizers in order.
type normalizers []normalizer

func (all normalizers) normalize(text string) (string, error) {
	for _, n := range all {
		var err error
		if text, err = n.normalize(text); err != nil {
			return "", err
		}
	}
	return text, nil
}

// form converts text to a Unicode normalization form.
type form norm.Form

// maxMarks is the maximum number of consecutive combining marks. Package norm would split a longer
// sequence by inserting a joiner.
const maxMarks = 30

func (f form) normalize(text string) (string, error) {
	form := norm.Form(f)
	if form.IsNormalString(text) && isASCII(text) {
		return text, nil
	}
	marks := 0
	for i, r := range text {
		p := norm.NFKD.PropertiesString(text[i:])
		if p.CCC() == 0 && p.Decomposition() == nil {
			marks = 0
			continue
		}
		n := 1
		if d := p.Decomposition(); d != nil {
			n = utf8.RuneCount(d)
		}
		if marks += n; marks > maxMarks && p.CCC() != 0 {
			return "", fmt.Errorf("more than %d combining marks in a row, at %q", maxMarks, r)
		}
		if p.CCC() == 0 {
			marks = n
		}
	}
	return form.String(text), nil
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// lowercase converts each character independently: a sigma at the end of a word has no special
// form.
type lowercase struct{}

func (lowercase) normalize(text string) (string, error) {
	return mapChars(text, func(out []byte, r rune) []byte {
		if r == 'İ' {
			return append(out, "i\u0307"...) // the only character that becomes two
		}
		return utf8.AppendRune(out, unicode.ToLower(r))
	}), nil
}

// mapChars applies a function to each character of a text and returns the concatenated results.
func mapChars(text string, with func(out []byte, r rune) []byte) string {
	out := make([]byte, 0, len(text)+len(text)/8)
	for _, r := range text {
		out = with(out, r)
	}
	return string(out)
}

// withoutMarks removes all marks of Unicode 10, the version that the normalization forms of Hugging
// Face's library use.
type withoutMarks struct{}

func (withoutMarks) normalize(text string) (string, error) {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.M) && unicode.Is(unicode10, r) {
			return -1
		}
		return r
	}, text), nil
}

// unicode10 is the set of characters in Unicode 10.
var unicode10 = rangetable.Assigned("10.0.0")

// withoutAccents removes nonspacing marks as the BERT normalizer of Hugging Face's library does.
type withoutAccents struct{}

func (withoutAccents) normalize(text string) (string, error) {
	return strings.Map(func(r rune) rune {
		switch {
		case r == 0x1885 || r == 0x1886 || r == 0xA9BD || r == 0x111C9: // nonspacing marks only after Unicode 8
			return r
		case inUnicode8(r, unicode.Mn) || r == 0x1734: // U+1734 was a nonspacing mark in Unicode 8
			return -1
		}
		return r
	}, text), nil
}

// unicode8 is the set of characters in Unicode 8. The library's BERT normalizer and its table of
// punctuation use this version.
var unicode8 = rangetable.Assigned("8.0.0")

// inUnicode8 reports whether a character exists in Unicode 8 and is in one of the tables.
func inUnicode8(r rune, kinds ...*unicode.RangeTable) bool {
	return unicode.In(r, kinds...) && unicode.Is(unicode8, r)
}

// cleaned replaces tabs, line feeds, carriage returns and white space that is not a control character
// with spaces. It removes all other control characters of Unicode 8, its format and private-use
// characters, and U+FFFD.
type cleaned struct{}

func (cleaned) normalize(text string) (string, error) {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return ' '
		case r == 0 || r == utf8.RuneError || inUnicode8(r, unicode.Cc, unicode.Cf, unicode.Co):
			return -1
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, text), nil
}

// spacedChinese puts spaces around Chinese characters.
type spacedChinese struct{}

func (spacedChinese) normalize(text string) (string, error) {
	return mapChars(text, func(out []byte, r rune) []byte {
		if !unicode.Is(chinese, r) {
			return utf8.AppendRune(out, r)
		}
		return append(utf8.AppendRune(append(out, ' '), r), ' ')
	}), nil
}

// chinese is the set of characters that Hugging Face's library treats as Chinese.
var chinese = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x3400, Hi: 0x4DBF, Stride: 1}, {Lo: 0x4E00, Hi: 0x9FFF, Stride: 1},
		{Lo: 0xF900, Hi: 0xFAFF, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x20000, Hi: 0x2A6DF, Stride: 1}, {Lo: 0x2A700, Hi: 0x2B73F, Stride: 1},
		{Lo: 0x2B740, Hi: 0x2B81F, Stride: 1},
		{Lo: 0x2B920, Hi: 0x2CEAF, Stride: 1}, {Lo: 0x2F800, Hi: 0x2FA1F, Stride: 1}},
}

// strip removes white space at the ends of a text.
type strip struct{ left, right bool }

func (s strip) normalize(text string) (string, error) {
	if s.left {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
	}
	if s.right {
		text = strings.TrimRightFunc(text, unicode.IsSpace)
	}
	return text, nil
}

// prepend inserts a prefix before nonempty text.
type prepend string

func (p prepend) normalize(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	return string(p) + text, nil
}

// replace replaces a text, or runs of spaces, with another text.
type replace struct {
	old, new string
	runs     bool // replace runs of at least two spaces instead of old
}

// maxGrowth limits the memory of two normalizers, in bytes: the text that Replace inserts for a String pattern, and
// the result of Precompiled.
const maxGrowth = 64 << 20

var errGrowth = errors.New("the normalizer expands the text too much")

func (p replace) normalize(text string) (string, error) {
	if p.runs {
		return p.replaceRuns(text), nil
	}
	if n := strings.Count(text, p.old); n > 0 && len(p.new) > len(p.old) && n > maxGrowth/len(p.new) {
		return "", errGrowth
	}
	return strings.ReplaceAll(text, p.old, p.new), nil
}

func (p replace) replaceRuns(text string) string {
	var out strings.Builder
	for at := 0; at < len(text); {
		n := 0
		for at+n < len(text) && text[at+n] == ' ' {
			n++
		}
		switch {
		case n >= 2:
			out.WriteString(p.new)
			at += n
		default:
			out.WriteByte(text[at])
			at++
		}
	}
	return out.String()
}
