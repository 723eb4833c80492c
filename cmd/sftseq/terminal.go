package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// terminalWriter escapes control characters, for example as \u001b, and invalid UTF-8 bytes, for
// example as \xff, because file names and texts may contain sequences that a terminal would execute.
// Valid JSON without carriage returns stays valid. The methods of a terminalWriter are safe for concurrent use.
type terminalWriter struct {
	to io.Writer

	mu   sync.Mutex
	part []byte // incomplete rune at the end of the last write
}

// newTerminalWriter returns a terminalWriter around another writer. The caller must call Finish at the end.
func newTerminalWriter(to io.Writer) *terminalWriter { return &terminalWriter{to: to} }

// Write implements [io.Writer].
func (v *terminalWriter) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	text := append(v.part, p...)
	end := len(text)
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if at := len(text) - n; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				end = at
			}
			break
		}
	}
	v.part = append([]byte(nil), text[end:]...)
	if _, err := io.WriteString(v.to, escapeControls(text[:end])); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Finish writes the bytes of an incomplete rune.
func (v *terminalWriter) Finish() {
	v.mu.Lock()
	defer v.mu.Unlock()
	io.WriteString(v.to, escapeControls(v.part))
	v.part = nil
}

// escapeControls escapes invalid UTF-8 bytes, characters that change the writing direction, and
// control characters except newlines and tabs.
func escapeControls(text []byte) string {
	var out strings.Builder
	out.Grow(len(text))
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&out, `\x%02x`, text[0])
		case r == '\n' || r == '\t':
			out.WriteRune(r)
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.Write(text[:n])
		}
		text = text[n:]
	}
	return out.String()
}

// shellQuote quotes s as one word for bash, zsh and shells that conform to POSIX.1-2024. Control
// characters, characters that change the writing direction and invalid UTF-8 bytes become octal escapes.
func shellQuote(s string) string {
	special := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("/._-+=:,@", r))
	}
	if s != "" && !strings.ContainsFunc(s, special) {
		return s
	}
	if escapeControls([]byte(s)) == s && !strings.ContainsAny(s, "\n\t") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var out strings.Builder
	out.WriteString("$'")
	for len(s) > 0 {
		_, n := utf8.DecodeRuneInString(s)
		switch rune := s[:n]; {
		case rune == "'" || rune == `\`:
			out.WriteString(`\` + rune)
		case escapeControls([]byte(rune)) != rune || rune == "\n" || rune == "\t":
			for _, b := range []byte(rune) {
				fmt.Fprintf(&out, `\%03o`, b) // three digits, because digits may follow
			}
		default:
			out.WriteString(rune)
		}
		s = s[n:]
	}
	return out.String() + "'"
}

// unwrapWriter returns the writer to which a terminalWriter writes, or w if w is another writer.
// Progress bars are drawn on this writer, because they need control characters.
func unwrapWriter(w io.Writer) io.Writer {
	if v, ok := w.(*terminalWriter); ok {
		return v.to
	}
	return w
}

// isTerminal reports whether w, or the writer under a terminalWriter, is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := unwrapWriter(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// maxErrorBytes is the length of an error message above which its middle is cut, because names and
// values in files can be long.
const maxErrorBytes = 4 << 10

// shortenError cuts the middle of a long error message. The beginning names the file and line, the
// end the cause.
func shortenError(text string) string {
	if len(text) <= maxErrorBytes {
		return text
	}
	from, to := maxErrorBytes*3/4, len(text)-maxErrorBytes/4
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	return fmt.Sprintf("%s … (%d bytes omitted) … %s", text[:from], to-from, text[to:])
}
