package answer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/tokenizers"
)

// Table is a table that is answered, and its columns.
type Table struct {
	Path    string
	Named   []string      // what rows are called by, see [table.NewNames]; nil is the path alone
	Options table.Options // whose Columns have all that follow
	Sources []string      // columns that the model reads: one, or two of a pair
	Tokens  bool          // they are lists of token ids
	Points  bool          // they are lists of features
	ID      string        // column, or ""
	Keep    []string
	// types of columns in Keep and ID, nil for text
	Types map[string]arrow.Field

	letters bool // white space is left out of texts: BED counts bases
}

// typed reports whether the values of a column keep their type.
func (t *Table) typed(column string) bool {
	_, ok := t.Types[column]
	return ok && column != ""
}

// tableRow is a row on its way through the model.
type tableRow struct {
	*requests.Request
	place string // as errors name it
	name  string // as rows without an id are called
	id    any    // string, the JSON of a number, or table.Stored
	kept  []any
	size  int // bytes of what is kept
}

// Tokens is how much of a batch the row takes: of one whose columns are longer than its
// sequence, more than that has.
func (r *tableRow) Tokens() int { return max(r.Request.Tokens(), r.size/16) }

// tableReader makes requests of rows.
type tableReader struct {
	*Table
	parser *requests.Parser
	names  *table.Names
	at     map[string]int // of columns, among the values
	all    []string       // columns of the table, nil where only rows can tell
}

func newTableReader(in *Table, parser *requests.Parser, all []string) *tableReader {
	named := in.Named
	if named == nil {
		named = []string{in.Path}
	}
	r := &tableReader{Table: in, parser: parser, names: table.NewNames(named), at: map[string]int{}, all: all}
	for i, name := range in.Options.Columns {
		r.at[name] = i
	}
	return r
}

// read reads rows until the end.
func (r *tableReader) read(ctx context.Context, t table.Reader, rows chan<- *tableRow) error {
	var row table.Row // whose memory is used again
	for {
		err := t.Next(&row)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case rows <- r.request(&row):
		case <-ctx.Done():
			return nil
		}
	}
}

// request is what a row asks for; one that cannot be read has its place, and what of it
// can be read.
func (r *tableReader) request(row *table.Row) *tableRow {
	out := &tableRow{Request: &requests.Request{}, place: row.Place(), name: r.names.Of(row),
		kept: make([]any, len(r.Keep))}
	err := row.Err
	if row.Uneven {
		r.clearMisplaced(row)
	}
	idAt := -1
	if len(row.Values) == len(r.Options.Columns) {
		for i, name := range r.Keep {
			v, bad := r.written(name, r.series(name, row.Values[r.at[name]]))
			if err == nil {
				err = bad
			}
			out.kept[i] = v
		}
		if r.ID != "" {
			idAt = r.at[r.ID]
		}
	}
	var bad error
	switch typed := r.typed(r.ID); {
	case typed && idAt >= 0:
		out.id, bad = r.written(r.ID, row.Values[idAt])
	case !typed:
		id, _ := r.names.ID(row, idAt)
		if out.id, bad = r.written(r.ID, id); bad != nil {
			out.id = out.name
		}
	}
	if err == nil {
		err = bad
	}
	for _, v := range append(out.kept, out.id) {
		out.size += sizeOf(v)
	}
	for _, name := range r.Sources {
		if err == nil {
			err = r.sequence(out.Request, name, row)
		}
	}
	if err != nil {
		out.Failure = &requests.Failure{Code: requests.CodeParams, Message: err.Error()}
		out.Sequences, out.Lengths = nil, nil // of a pair the first may be good
	}
	return out
}

// series makes of a series in one column, which the output keeps, the list that the column has.
func (r *tableReader) series(name string, v table.Value) table.Value {
	if v.Features == nil || !slices.Equal(r.Options.Series, []string{name}) {
		return v
	}
	numbers := make([]float32, len(v.Features))
	for i, step := range v.Features {
		numbers[i] = step[0]
	}
	text, err := json.Marshal(numbers)
	if err != nil { // JSON has no NaN or infinity, and the table refuses them
		return v
	}
	return table.Value{Text: string(text), JSON: true}
}

// clearMisplaced leaves a row with too many fields, or too few, what stands before the
// columns that the model reads. Most often it is a text that has a sign between fields too
// many, or a quote: what is behind it is not in its place then.
func (r *tableReader) clearMisplaced(row *table.Row) {
	front := slices.IndexFunc(r.all, func(column string) bool { return slices.Contains(r.Sources, column) })
	for i, name := range r.Options.Columns {
		if at := slices.Index(r.all, name); at < 0 || at >= front {
			row.Values[i] = table.Value{Null: true}
		}
	}
}

// sequence adds what a column has for the model.
func (r *tableReader) sequence(to *requests.Request, name string, row *table.Row) error {
	v := row.Values[r.at[name]]
	tokens := v.Tokens
	var err error
	switch {
	case v.Null:
		return fmt.Errorf("column %s: expected a value, found none", name)
	case r.Points && v.Features == nil:
		return fmt.Errorf("column %s: expected a list of features, found %.40q", name, v.Text)
	case r.Points:
		if err := r.parser.SetFeatures(to, v.Features); err != nil {
			return fmt.Errorf("column %s: %w", name, err)
		}
		return nil
	case r.Tokens && tokens == nil:
		return fmt.Errorf("column %s: expected a list of token ids, found %.40q", name, v.Text)
	case !r.Tokens && tokens != nil:
		return fmt.Errorf("column %s: expected text, found a list", name)
	case !r.Tokens:
		if r.letters {
			v.Text = tokenizers.Letters(v.Text)
		}
		tokens, err = r.parser.Encode(v.Text)
	}
	n := len(tokens)
	if err == nil {
		tokens, err = r.parser.Config.Window(tokens)
	}
	if err != nil {
		return fmt.Errorf("column %s: %w", name, err)
	}
	if len(tokens) < n { // all of them would be kept as long as the request
		tokens = slices.Clone(tokens)
	}
	if !r.Tokens {
		r.parser.Locate(to, v.Text, len(tokens))
	}
	to.Sequences, to.Lengths = append(to.Sequences, tokens), append(to.Lengths, n)
	return nil
}

// written is what a column's value becomes in the output, nil if there is none.
func (r *tableReader) written(column string, v table.Value) (any, error) {
	switch {
	case v.Null:
		return nil, nil
	case r.typed(column):
		return v.Stored, nil
	case v.Tokens != nil:
		text := []byte{'['}
		for i, id := range v.Tokens {
			if i > 0 {
				text = append(text, ',')
			}
			text = strconv.AppendInt(text, int64(id), 10)
		}
		return json.RawMessage(append(text, ']')), nil
	case v.Features != nil:
		text, err := json.Marshal(v.Features)
		return json.RawMessage(text), err
	case v.JSON:
		return json.RawMessage(v.Text), nil
	case !utf8.ValidString(v.Text):
		return nil, fmt.Errorf("column %s: not UTF-8, so that it cannot be written", column)
	}
	return v.Text, nil
}

// sizeOf is how many bytes a value has that is written.
func sizeOf(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case json.RawMessage:
		return len(v)
	case table.Stored:
		return len(v)
	}
	return 0
}
