package source

import "strings"

// NumberWords splits a line into words at white space, commas or semicolons. If a line has semicolons, or
// white space that is not beside a comma, commas stay in the words, because 0,5;1,5 and "0,5 1,5" have
// decimal commas.
func NumberWords(line string) []string { return strings.FieldsFunc(line, NumberSeparator(line)) }

// NumberSeparator returns a function that reports whether [NumberWords] splits the line at a character.
func NumberSeparator(line string) func(rune) bool {
	separators := " \t\r\n,;"
	if strings.Contains(line, ";") || strings.Contains(line, ",") && hasSpaces(line) {
		separators = " \t\r\n;"
	}
	return func(r rune) bool { return strings.ContainsRune(separators, r) }
}

// hasSpaces reports whether words are separated by white space without an adjacent comma.
func hasSpaces(line string) bool {
	previous := ","
	for field := range strings.FieldsSeq(line) {
		if !strings.HasSuffix(previous, ",") && !strings.HasPrefix(field, ",") {
			return true
		}
		previous = field
	}
	return false
}
