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

// visible writes what people read: control characters, which names and texts of files may
// have, are shown as \u001b, and bytes that are no UTF-8 as \xff. A terminal would obey
// them. JSON stays JSON. It is safe for concurrent use.
type visible struct {
	to io.Writer

	mu   sync.Mutex
	part []byte // the beginning of a rune whose rest is still to come
}

func (v *visible) Write(p []byte) (int, error) {
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
	if _, err := io.WriteString(v.to, escape(text[:end])); err != nil {
		return 0, err
	}
	return len(p), nil
}

// finish writes what is left of a rune that was never completed.
func (v *visible) finish() {
	v.mu.Lock()
	defer v.mu.Unlock()
	io.WriteString(v.to, escape(v.part))
	v.part = nil
}

// escape shows what a terminal would obey.
func escape(text []byte) string {
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

// beneath is what a writer writes to, to draw on.
func beneath(w io.Writer) io.Writer {
	if v, ok := w.(*visible); ok {
		return v.to
	}
	return w
}

func isTerminal(w io.Writer) bool {
	f, ok := beneath(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// longestError is how many bytes of an error are shown; names and values of a file can
// make it any length.
const longestError = 4 << 10

// briefly leaves out the middle of a text that is too long: an error begins with its place
// and ends with its cause.
func briefly(text string) string {
	if len(text) <= longestError {
		return text
	}
	from, to := longestError*3/4, len(text)-longestError/4
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	return fmt.Sprintf("%s … (%d bytes are left out) … %s", text[:from], to-from, text[to:])
}
