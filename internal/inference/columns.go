package inference

import (
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/sft"
)

// replyColumns are the columns of a model's reply to a row. In JSON lines, they are the fields that
// [Model.Lines] writes after the id.
type replyColumns struct {
	columns []table.OutputColumn
	values  func(reply any) []any
	lines   bool // the columns are fields of JSON lines
}

// predictionColumns returns a function that returns the columns of a predictor's replies.
func predictionColumns(t Task) func(c *sft.Config, format string, pair bool) replyColumns {
	return func(c *sft.Config, format string, pair bool) replyColumns {
		taskColumns := t.Columns(format)
		values := func(reply any) []any { return taskColumns.Values(reply.(requests.Reply).Prediction) }
		if format != "jsonl" {
			return replyColumns{columns: taskColumns.Columns, values: values}
		}
		var names []string
		for _, column := range taskColumns.Columns {
			names = append(names, column.Name)
		}
		return lineColumns(c, pair, names, func(reply any) ([]any, requests.Sizes) {
			return values(reply),
				reply.(requests.Reply).Sizes
		})
	}
}

// embeddingColumns returns the columns of a vector, or of both vectors of a pair.
func embeddingColumns(c *sft.Config, format string, pair bool) replyColumns {
	names := []string{"embedding"}
	if pair {
		names = []string{"embedding_a", "embedding_b"}
	}
	values := func(reply any) ([]any, requests.Sizes) {
		e := reply.(requests.Embedding)
		if pair {
			return []any{e.EmbeddingA, e.EmbeddingB}, e.Sizes
		}
		return []any{e.Embedding}, e.Sizes
	}
	if format == "jsonl" {
		return lineColumns(c, pair, names, values)
	}
	out := replyColumns{values: func(reply any) []any {
		v, _ := values(reply)
		return v
	}}
	for _, name := range names {
		out.columns = append(out.columns, table.OutputColumn{Name: name, Kind: table.VectorColumn, Width: c.HiddenSize})
	}
	return out
}

// lineColumns returns the columns of a reply in JSON lines: the columns with the given names, followed by the
// token counts.
func lineColumns(c *sft.Config, pair bool, names []string,
	values func(reply any) ([]any, requests.Sizes)) replyColumns {
	names = append(names, "length")
	if pair {
		names = append(names, "length_a", "length_b")
	}
	if c.InputWindow != nil {
		names = append(names, "used")
	}
	out := replyColumns{lines: true}
	for _, name := range names {
		out.columns = append(out.columns, table.OutputColumn{Name: name, Kind: table.ObjectColumn, Omit: true})
	}
	out.values = func(reply any) []any {
		row, z := values(reply)
		row = append(row, z.Length)
		if pair {
			row = append(row, *z.LengthA, *z.LengthB)
		}
		if c.InputWindow != nil {
			row = append(row, *z.Used)
		}
		return row
	}
	return out
}

// tableColumns returns all columns of the output: the id, the kept columns, the reply's columns,
// and an error. A kept column whose name is taken is renamed to input_NAME.
func tableColumns(t *Table, reply []table.OutputColumn, format string) []table.OutputColumn {
	errors := table.OutputColumn{Name: "error", Omit: true}
	if format == "jsonl" {
		errors.Kind = table.ObjectColumn
	}
	taken := map[string]bool{"id": true, "error": true}
	for _, c := range reply {
		taken[c.Name] = true
		for i := range c.Width {
			taken[fmt.Sprintf("%s_%d", c.Name, i)] = true // the column names in CSV
		}
	}
	column := func(name, of string) table.OutputColumn {
		if t.typed(of) {
			return table.OutputColumn{Name: name, Kind: table.StoredColumn, Field: t.Types[of]}
		}
		return table.OutputColumn{Name: name}
	}
	columns := []table.OutputColumn{column("id", t.ID)}
	for _, name := range t.Keep {
		own := name
		for taken[name] || name != own && slices.Contains(t.Keep, name) {
			name = "input_" + name
		}
		taken[name] = true
		columns = append(columns, column(name, own))
	}
	return append(append(columns, reply...), errors)
}
