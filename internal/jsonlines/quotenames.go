package jsonlines

import (
	"fmt"
	"strings"
)

// QuoteNames returns quoted names for an error, such as "a", "b", or none for an empty list. It shortens long names and
// long lists.
func QuoteNames(names []string) string {
	const maxNames, maxLength = 40, 100
	if len(names) == 0 {
		return "none"
	}
	quoted := make([]string, 0, maxNames)
	for _, name := range names[:min(len(names), maxNames)] {
		quoted = append(quoted, fmt.Sprintf("%.*q", maxLength, name))
	}
	text := strings.Join(quoted, ", ")
	if more := len(names) - maxNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
