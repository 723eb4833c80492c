package jsonlines_test

import (
	"testing"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// TestShorten checks that only a longer text is cut, after a whole character, and that the cut is marked.
func TestShorten(t *testing.T) {
	for text, want := range map[string]string{"": "", "abc": "abc", "äöü": "äöü", "abcd": "abc…", "äöüß": "äöü…",
		"\xff\xfe\xfd": "\xff\xfe\xfd", "\xff\xfe\xfda": "\xff\xfe\xfd…"} {
		if got := jsonlines.Shorten(text, 3); got != want {
			t.Errorf("Shorten(%q, 3) = %q, want %q", text, got, want)
		}
	}
}
