package task

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/sft"
)

// labelColumn returns a column of classes: text if the classes have names, else integers.
func labelColumn(c *sft.Config, name string) table.OutputColumn {
	if c.LabelNames == nil {
		return table.OutputColumn{Name: name, Kind: table.IntColumn}
	}
	return table.OutputColumn{Name: name}
}

// columnValue returns a class as a value of a [labelColumn].
func columnValue(label any) any {
	if n, ok := label.(int); ok {
		return int64(n)
	}
	return label
}

// probabilityColumns returns a column for each class, called probability_NAME, or probability_INDEX
// if class names are missing or not unique.
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

// asColumns returns a column value for each number.
func asColumns(from []float32) (out []any) {
	for _, v := range from {
		out = append(out, v)
	}
	return out
}

// asJSON encodes a list as JSON. It panics if JSON cannot represent the list, for example because of NaN.
func asJSON(list any) json.RawMessage {
	text, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	return text
}
