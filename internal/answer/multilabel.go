package answer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/sft"
)

// labelSeparator stands between the labels of a row, where a table has one text for them. Where a
// label has it in its name, the text is a list of JSON.
const labelSeparator = ";"

// labelsKind is how a format has the labels of a row.
type labelsKind int

const (
	labelsObject labelsKind = iota // of JSON
	labelsText                     // names, a separator between them
	labelsList                     // names as a list of JSON, in a text
)

func labelsColumn(c *sft.Config, format string) labelsKind {
	switch {
	case format == "jsonl":
		return labelsObject
	case slices.ContainsFunc(c.LabelNames, func(name string) bool { return strings.Contains(name, labelSeparator) }):
		return labelsList
	}
	return labelsText
}

func (k labelsKind) named(name string) table.OutputColumn {
	if k == labelsObject {
		return table.OutputColumn{Name: name, Kind: table.ObjectColumn}
	}
	return table.OutputColumn{Name: name}
}

// value is the labels of a row.
func (k labelsKind) value(c *sft.Config, labels []int32) any {
	names := make([]any, len(labels))
	for i, label := range labels {
		names[i] = c.Label(int(label))
	}
	return k.of(names)
}

// of is the value of labels by name, or by number where they have no names.
func (k labelsKind) of(names []any) any {
	switch k {
	case labelsObject:
		return names
	case labelsList:
		text, err := json.Marshal(names)
		if err != nil { // of texts
			panic(err)
		}
		return json.RawMessage(text)
	}
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = fmt.Sprint(name)
	}
	return strings.Join(texts, labelSeparator)
}

// labelsColumns are those of several labels: the ones that hold, in one text, and a probability
// for each.
func labelsColumns(c *sft.Config, format string, pair bool) replyColumns {
	if format == "jsonl" {
		return lineColumns(c, pair, []string{"labels", "probabilities"}, func(reply any) ([]any, requests.Sizes) {
			p := reply.(requests.Labels)
			return []any{p.Labels, p.Probabilities}, p.Sizes
		})
	}
	labels := labelsColumn(c, format)
	columns := append([]table.OutputColumn{labels.named("labels")}, probabilityColumns(c)...)
	return replyColumns{columns: columns, values: func(reply any) []any {
		p := reply.(requests.Labels)
		return append([]any{labels.of(p.Labels)}, realValues(p.Probabilities.Values)...)
	}}
}
