package answer

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/sft"
)

// replyColumns are the columns of what a model says of a row. JSON lines have those of
// replies to lines; other formats what people join with their tables.
type replyColumns struct {
	columns []table.OutputColumn
	values  func(reply any) []any
	lines   bool // they are those of JSON lines
}

// predictionColumns are those of a class: its name or number, and a probability for each.
func predictionColumns(c *sft.Config, format string, pair bool) replyColumns {
	if format == "jsonl" {
		return lineColumns(c, pair, []string{"label", "logits", "probabilities"}, func(reply any) ([]any, requests.Sizes) {
			p := reply.(requests.Prediction)
			return []any{p.Label, p.Logits, p.Probabilities}, p.Sizes
		})
	}
	columns := append([]table.OutputColumn{labelColumn(c, "label")}, probabilityColumns(c)...)
	return replyColumns{columns: columns, values: func(reply any) []any {
		p := reply.(requests.Prediction)
		return append([]any{columnValue(p.Label)}, realValues(p.Probabilities)...)
	}}
}

// numberColumns are those of numbers, called by their names.
func numberColumns(c *sft.Config, format string, pair bool) replyColumns {
	if format == "jsonl" {
		return lineColumns(c, pair, []string{"numbers"}, func(reply any) ([]any, requests.Sizes) {
			n := reply.(requests.Numbers)
			return []any{n.Numbers}, n.Sizes
		})
	}
	out := replyColumns{values: func(reply any) []any { return realValues(reply.(requests.Numbers).Numbers.Values) }}
	for _, name := range c.NumberNames() {
		out.columns = append(out.columns, table.OutputColumn{Name: name, Kind: table.FloatColumn})
	}
	return out
}

// spanColumns are those of spans; but for JSON lines, a list of JSON.
func spanColumns(c *sft.Config, format string, pair bool) replyColumns {
	if format == table.BED {
		return replyColumns{columns: []table.OutputColumn{{Name: "spans"}}, values: func(reply any) []any { return []any{reply} }}
	}
	if format == "jsonl" {
		return lineColumns(c, pair, []string{"spans", "unit"}, func(reply any) ([]any, requests.Sizes) {
			s := reply.(requests.Spans)
			return []any{s.Spans, s.Unit}, s.Sizes
		})
	}
	return replyColumns{columns: []table.OutputColumn{{Name: "spans"}, {Name: "unit"}}, values: func(reply any) []any {
		s := reply.(requests.Spans)
		text, err := json.Marshal(s.Spans)
		if err != nil { // of finite numbers
			panic(err)
		}
		return []any{json.RawMessage(text), s.Unit}
	}}
}

// tagColumns are those of the tags of tokens with features; but for JSON lines, lists of JSON.
func tagColumns(c *sft.Config, format string, pair bool) replyColumns {
	if format == "jsonl" {
		return lineColumns(c, pair, []string{"tags", "scores"}, func(reply any) ([]any, requests.Sizes) {
			t := reply.(requests.Tags)
			return []any{t.Tags, t.Scores}, t.Sizes
		})
	}
	return replyColumns{columns: []table.OutputColumn{{Name: "tags"}, {Name: "scores"}}, values: func(reply any) (row []any) {
		t := reply.(requests.Tags)
		for _, list := range []any{t.Tags, t.Scores} {
			text, err := json.Marshal(list)
			if err != nil { // of names and finite numbers
				panic(err)
			}
			row = append(row, json.RawMessage(text))
		}
		return row
	}}
}

// labelColumn is a column of classes.
func labelColumn(c *sft.Config, name string) table.OutputColumn {
	if c.LabelNames == nil {
		return table.OutputColumn{Name: name, Kind: table.IntColumn}
	}
	return table.OutputColumn{Name: name}
}

// columnValue is a class as its column has it.
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

func realValues(from []float32) (out []any) {
	for _, v := range from {
		out = append(out, v)
	}
	return out
}

// embeddingColumns are those of a vector, or of the two of a pair.
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

// lineColumns are those of a reply to a line, which ends with the numbers of tokens.
func lineColumns(c *sft.Config, pair bool, names []string, values func(reply any) ([]any, requests.Sizes)) replyColumns {
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

// tableColumns are all columns of the output: the id, those that are kept, the reply's and
// an error. A kept one whose name is another's is called input_NAME.
func tableColumns(keep []string, reply []table.OutputColumn, format string) []table.OutputColumn {
	errors := table.OutputColumn{Name: "error", Omit: true}
	if format == "jsonl" {
		errors.Kind = table.ObjectColumn
	}
	taken := map[string]bool{"id": true, "error": true}
	for _, c := range reply {
		taken[c.Name] = true
		for i := range c.Width {
			taken[fmt.Sprintf("%s_%d", c.Name, i)] = true // in CSV
		}
	}
	columns := []table.OutputColumn{{Name: "id"}}
	for _, name := range keep {
		own := name
		for taken[name] || name != own && slices.Contains(keep, name) {
			name = "input_" + name
		}
		taken[name] = true
		columns = append(columns, table.OutputColumn{Name: name})
	}
	return append(append(columns, reply...), errors)
}
