package source

import "strings"

// NumberWords are the words of a line between white space, commas or semicolons. Where a line has
// two kinds of these, the commas stay in the words: 0,5;1,5 and "0,5 1,5" have decimal commas.
func NumberWords(line string) []string { return strings.FieldsFunc(line, NumberSeparator(line)) }

// NumberSeparator reports whether a character is between the words of a line.
func NumberSeparator(line string) func(rune) bool {
	between := " \t\r\n,;"
	if strings.Contains(line, ";") || strings.Contains(line, ",") && spaced(line) {
		between = " \t\r\n;"
	}
	return func(r rune) bool { return strings.ContainsRune(between, r) }
}

// spaced reports whether white space without a comma beside it is between words.
func spaced(line string) bool {
	before := ","
	for field := range strings.FieldsSeq(line) {
		if !strings.HasSuffix(before, ",") && !strings.HasPrefix(field, ",") {
			return true
		}
		before = field
	}
	return false
}
