package jsonlines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"github.com/sftseq/sftseq/internal/rope"
)

// Text returns the value of a string in valid JSON. A lone surrogate, such as "\ud83d", is an
// error: it is not a character, and a replacement character would make different texts equal.
func Text(value json.RawMessage) (string, error) {
	if len(value) == 0 || value[0] != '"' {
		return "", fmt.Errorf("expected a string, found %s", Kind(value))
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1]), nil
	}
	text := AppendText(make([]byte, 0, len(value)-2), value)
	if at := rope.LoneSurrogate(text); at >= 0 {
		return "", Lone(text, at, 0)
	}
	return unsafe.String(unsafe.SliceData(text), len(text)), nil // no other reference to text exists
}

// Lone returns the error for a lone surrogate at an offset in a text that is preceded by the given
// number of bytes.
func Lone(text []byte, at, before int) error {
	return fmt.Errorf(`expected text, found lone surrogate \u%04x at byte %d`,
		rope.Surrogate(text[at:]), before+at)
}

// AppendText appends the value of a string in valid JSON, in WTF-8. The value is not longer than the
// JSON text.
func AppendText(out []byte, value json.RawMessage) []byte {
	out, _ = unquote(out, value[1:len(value)-1], len(out)+len(value)+utf8.UTFMax)
	return out
}

// Chunks yields the value of a string in valid JSON, in WTF-8, in chunks that do not split characters.
// The argument size is the maximum number of bytes of a chunk, at least utf8.UTFMax. An empty string
// has one empty chunk. A chunk is valid until the next chunk.
func Chunks(value json.RawMessage, size int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		quoted := value[1 : len(value)-1]
		out := make([]byte, 0, min(size, len(quoted)))
		for {
			out, quoted = unquote(out[:0], quoted, size)
			if !yield(out) || len(quoted) == 0 {
				return
			}
		}
	}
}

// unquote appends the content of a string until out has no room for another character within limit
// bytes. It returns out and the rest of the content.
func unquote(out, quoted []byte, limit int) (text, rest []byte) {
	for room := limit - len(out); len(quoted) > 0 && room >= utf8.UTFMax; room = limit - len(out) {
		run := bytes.IndexByte(quoted, '\\')
		if run < 0 {
			run = len(quoted)
		}
		if run > room {
			for run = room; !utf8.RuneStart(quoted[run]); {
				run--
			}
		}
		if run > 0 {
			out, quoted = append(out, quoted[:run]...), quoted[run:]
			continue
		}
		out, quoted = unescape(out, quoted)
	}
	return out, quoted
}

// unescape appends the character of the escape sequence at the beginning of a text, and returns the
// rest.
func unescape(out, quoted []byte) (text, rest []byte) {
	const escapes, characters = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if at := bytes.IndexByte([]byte(escapes), quoted[1]); at >= 0 {
		return append(out, characters[at]), quoted[2:]
	}
	c := codeUnit(quoted)
	quoted = quoted[escapeBytes:]
	if !utf16.IsSurrogate(c) {
		return utf8.AppendRune(out, c), quoted
	}
	if pair := utf16.DecodeRune(c, codeUnit(quoted)); pair != utf8.RuneError {
		return utf8.AppendRune(out, pair), quoted[escapeBytes:]
	}
	return rope.AppendSurrogate(out, c), quoted
}

// escapeBytes is the length of an escape such as \u00e9.
const escapeBytes = len(`\u0000`)

// codeUnit returns the code unit of a \u escape at the beginning of a text, or -1.
func codeUnit(text []byte) rune {
	if len(text) < escapeBytes || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	n, _ := strconv.ParseUint(string(text[2:escapeBytes]), 16, 16)
	return rune(n)
}
