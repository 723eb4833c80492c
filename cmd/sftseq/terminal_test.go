package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

func TestTerminalWriter(t *testing.T) {
	plain := "größer 日本 👩‍🔬\tone\ntwo"
	text := "\x1b]0;owned\x07\x1b[2Jgood\rbad\u009b31m\x7f\u202eabc\u2066\xff\xe6\x97" + plain + "\xf0\x9f"
	want := `\u001b]0;owned\u0007\u001b[2Jgood\u000dbad\u009b31m\u007f\u202eabc\u2066\xff\xe6\x97` + plain + `\xf0\x9f`
	for _, piece := range []int{1, 2, 3, 5, len(text)} {
		var out bytes.Buffer
		v := newTerminalWriter(&out)
		for rest := []byte(text); len(rest) > 0; {
			n := must.Get(v.Write(rest[:min(piece, len(rest))]))(t)
			rest = rest[n:]
		}
		v.Finish()
		equal(t, out.String(), want, piece)
	}
}

func TestShortenError(t *testing.T) {
	for n := maxErrorBytes - 5; n < maxErrorBytes+3; n++ {
		text := "file: row 7: " + strings.Repeat("é", n/2) + ": the cause"
		got := shortenError(text)
		if len(text) <= maxErrorBytes {
			equal(t, got, text)
			continue
		}
		if len(got) > maxErrorBytes+60 || !strings.HasPrefix(got, "file: row 7: é") ||
			!strings.HasSuffix(got, "é: the cause") || strings.ContainsRune(got, '\uFFFD') {
			t.Errorf("got %d bytes, %.60q … %q; want at most %d, prefix %q, suffix %q, no U+FFFD", len(got), got,
				got[max(0, len(got)-60):], maxErrorBytes+60, "file: row 7: é", "é: the cause")
		}
	}
}

// TestShellQuote checks that a shell parses a quoted name back to the original, and that the quoted
// name is printable.
func TestShellQuote(t *testing.T) {
	for _, name := range []string{"\xff\xfe", "a\x1b[2Jb", "it's\xe9", "two\nlines\t", `back\slash'` + "\x80",
		"größe \u202e", "", "plain", "it's", "$HOME `x` \"y\"", "\x01" + "7"} {
		quoted := shellQuote(name)
		if escapeControls([]byte(quoted)) != quoted || strings.ContainsAny(quoted, "\n\t") {
			t.Errorf("%q is quoted as %q, want only printable characters", name, quoted)
		}
		out, err := exec.Command("bash", "-c", "printf %s "+quoted).Output()
		if err != nil || string(out) != name {
			t.Errorf("%q is quoted as %s, which is %q (%v)", name, quoted, out, err)
		}
	}
}
