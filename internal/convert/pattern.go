package convert

import (
	"fmt"
	"regexp"

	"github.com/sftseq/sftseq/internal/source"
)

// taken extracts a part of a text by a pattern. It returns the name of the first named group that
// matches, otherwise the text of the first group, or the whole match if the pattern has no groups.
// Without a pattern it returns the text.
func taken(pattern *regexp.Regexp, text string) (string, bool) {
	if pattern == nil {
		return text, true
	}
	at := pattern.FindStringSubmatchIndex(text)
	if at == nil {
		return "", false
	}
	group := -1 // the first group that matches
	for i, name := range pattern.SubexpNames() {
		switch {
		case i == 0 || at[2*i] < 0:
		case name != "":
			return name, true
		case group < 0:
			group = i
		}
	}
	switch {
	case group > 0:
		return text[at[2*group]:at[2*group+1]], true
	case pattern.NumSubexp() > 0:
		return "", true
	}
	return text[at[0]:at[1]], true
}

// unmatched returns the skip reason of a row whose text does not match a pattern.
func unmatched(what string, pattern *regexp.Regexp, text string) *source.SkipReason {
	return source.Skip(fmt.Sprintf("the %s does not match %s", what, pattern), fmt.Errorf("found %.60q", text))
}
