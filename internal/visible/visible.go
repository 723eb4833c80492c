// Package visible writes texts and names of files so that a person sees what they hold: a
// terminal obeys none of them, and a shell reads a name as it was.
package visible

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

// Writer writes what people read: control characters, which names and texts of files may
// have, are shown as \u001b, and bytes that are no UTF-8 as \xff. A terminal would obey
// them. JSON stays JSON. It is safe for concurrent use.
type Writer struct {
	to io.Writer

	mu   sync.Mutex
	part []byte // the beginning of a rune whose rest is still to come
}

// NewWriter returns a writer on top of another. Finish ends it.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Write implements [io.Writer].
func (v *Writer) Write(p []byte) (int, error) {
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
	if _, err := io.WriteString(v.to, Escape(text[:end])); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Finish writes what is left of a rune that was never completed.
func (v *Writer) Finish() {
	v.mu.Lock()
	defer v.mu.Unlock()
	io.WriteString(v.to, Escape(v.part))
	v.part = nil
}

// Escape shows what a terminal would obey.
func Escape(text []byte) string {
	var out strings.Builder
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

// Quote quotes a word where a shell would take it apart, and spells out what is not
// to be shown or is no UTF-8, as bash, zsh and POSIX of 2024 read it.
func Quote(s string) string {
	plain := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+=:,@", r))
	}
	if s != "" && !strings.ContainsFunc(s, plain) {
		return s
	}
	if Escape([]byte(s)) == s && !strings.ContainsAny(s, "\n\t") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var out strings.Builder
	out.WriteString("$'")
	for len(s) > 0 {
		_, n := utf8.DecodeRuneInString(s)
		switch rune := s[:n]; {
		case rune == "'" || rune == `\`:
			out.WriteString(`\` + rune)
		case Escape([]byte(rune)) != rune || rune == "\n" || rune == "\t":
			for _, b := range []byte(rune) {
				fmt.Fprintf(&out, `\%03o`, b) // of three digits always, whatever follows
			}
		default:
			out.WriteString(rune)
		}
		s = s[n:]
	}
	return out.String() + "'"
}

// Beneath is what a writer writes to, to draw on.
func Beneath(w io.Writer) io.Writer {
	if v, ok := w.(*Writer); ok {
		return v.to
	}
	return w
}

// Terminal reports whether a writer, or what is beneath it, is a terminal.
func Terminal(w io.Writer) bool {
	f, ok := Beneath(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Longest is how many bytes of an error are shown; names and values of a file can
// make it any length.
const Longest = 4 << 10

// Briefly leaves out the middle of a text that is too long: an error begins with its place
// and ends with its cause.
func Briefly(text string) string {
	if len(text) <= Longest {
		return text
	}
	from, to := Longest*3/4, len(text)-Longest/4
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	return fmt.Sprintf("%s … (%d bytes are left out) … %s", text[:from], to-from, text[to:])
}
