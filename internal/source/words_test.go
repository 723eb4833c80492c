package source

import (
	"strings"
	"testing"
)

// TestNumberWords checks the separators of words, and that decimal commas stay in the words.
func TestNumberWords(t *testing.T) {
	for line, want := range map[string]string{
		"1 2\t3\r\n": "1|2|3", "1,2,3": "1|2|3", "1, 2 ,3": "1|2|3", "1;2; 3": "1|2|3", "0,5;1,5": "0,5|1,5",
		"0,5 1,5": "0,5|1,5", "0,5\t1": "0,5|1", " ,1,": "1", "": "", "0,5;": "0,5",
	} {
		if got := strings.Join(NumberWords(line), "|"); got != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}
