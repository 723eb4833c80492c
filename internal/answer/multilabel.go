package answer

import (
	"fmt"
	"strings"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/rowwriter"
	"github.com/sftseq/sftseq/sft"
)

// labelSeparator stands between the labels of a row, where a table has one text for them.
const labelSeparator = ";"

// labelsColumns are those of several labels: the ones that hold, in one text, and a probability
// for each.
func labelsColumns(c *sft.Config, format string, pair bool) replyColumns {
	if format == "jsonl" {
		return lineColumns(c, pair, []string{"labels", "probabilities"}, func(reply any) ([]any, requests.Sizes) {
			p := reply.(requests.Labels)
			return []any{p.Labels, p.Probabilities}, p.Sizes
		})
	}
	columns := append([]rowwriter.Column{{Name: "labels"}}, probabilityColumns(c)...)
	return replyColumns{columns: columns, values: func(reply any) []any {
		p := reply.(requests.Labels)
		var names []string
		for _, label := range p.Labels {
			names = append(names, fmt.Sprint(label))
		}
		return append([]any{strings.Join(names, labelSeparator)}, realValues(p.Probabilities.Values)...)
	}}
}
