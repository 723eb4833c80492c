package jsonlines_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// TestQuoteNames checks the text for no name, a few names, a name that must be escaped, and long names and lists.
func TestQuoteNames(t *testing.T) {
	many := slices.Repeat([]string{"x"}, 43)
	for want, names := range map[string][]string{
		"none":                               nil,
		`"a", "b c"`:                         {"a", "b c"},
		`"a\"b"`:                             {`a"b`},
		`"` + strings.Repeat("y", 100) + `"`: {strings.Repeat("y", 101)},
		strings.Repeat(`"x", `, 39) + `"x" and 3 more`: many,
	} {
		if got := jsonlines.QuoteNames(names); got != want {
			t.Errorf("QuoteNames(%q) = %s, want %s", names, got, want)
		}
	}
}
