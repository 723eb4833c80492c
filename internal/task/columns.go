package task

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/sft"
)

// labelColumn is a column of classes, by name, or by number where they have no names.
func labelColumn(c *sft.Config, name string) table.OutputColumn {
	if c.LabelNames == nil {
		return table.OutputColumn{Name: name, Kind: table.IntColumn}
	}
	return table.OutputColumn{Name: name}
}

// columnValue is a class in a [labelColumn].
func columnValue(label any) any {
	if n, ok := label.(int); ok {
		return int64(n)
	}
	return label
}

// probabilityColumns are called by the names of the classes; by their numbers where two
// classes have one name.
func probabilityColumns(c *sft.Config) (columns []table.OutputColumn) {
	names := slices.Clone(c.LabelNames)
	slices.Sort(names)
	unique := len(slices.Compact(names)) == c.NumLabels
	for i := range c.NumLabels {
		name := fmt.Sprint(i)
		if unique {
			name = c.LabelNames[i]
		}
		columns = append(columns, table.OutputColumn{Name: "probability_" + name, Kind: table.FloatColumn})
	}
	return columns
}

// asColumns has a column for each value.
func asColumns(from []float32) (out []any) {
	for _, v := range from {
		out = append(out, v)
	}
	return out
}

// asJSON is a list of names or finite numbers as JSON.
func asJSON(list any) json.RawMessage {
	text, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	return text
}
