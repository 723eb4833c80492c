package convert

import (
	"fmt"
	"regexp"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/source"
)

// extract returns the value that a pattern selects for a text. If a named group matches, the value is the name of the
// first one, not its text. Otherwise it is the text of the first group that matches, or "" if no group matches. If the
// pattern has no groups, extract returns the whole match. Without a pattern, it returns the text. It
// returns false if the pattern does not match.
func extract(pattern *regexp.Regexp, text string) (string, bool) {
	if pattern == nil {
		return text, true
	}
	bounds := pattern.FindStringSubmatchIndex(text)
	if bounds == nil {
		return "", false
	}
	group := -1 // the first group that matches
	for i, name := range pattern.SubexpNames() {
		switch {
		case i == 0 || bounds[2*i] < 0:
		case name != "":
			return name, true
		case group < 0:
			group = i
		}
	}
	switch {
	case group > 0:
		return text[bounds[2*group]:bounds[2*group+1]], true
	case pattern.NumSubexp() > 0:
		return "", true
	}
	return text[bounds[0]:bounds[1]], true
}

// unmatched returns the skip reason of a row whose text does not match a pattern.
func unmatched(field string, pattern *regexp.Regexp, text string) *source.SkipReason {
	return source.Skip(fmt.Sprintf("the %s does not match %s", field, pattern), fmt.Errorf("found %q",
		jsonlines.Shorten(text, 60)))
}
