package inference

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/tokenizers"
)

// Table is an input table and its columns.
type Table struct {
	Path    string
	Named   []string      // paths that name the rows, see [table.NewNames]; nil means Path only
	Options table.Options // Options.Columns has all columns below
	Sources []string      // columns that the model reads: one, or two for a pair
	Tokens  bool          // the columns are lists of token ids
	Points  bool          // the columns are lists of features
	ID      string        // name of the id column, or ""
	Keep    []string      // columns to copy to the output
	// Types are the Arrow types of columns in Keep and ID; text columns are absent.
	Types map[string]arrow.Field
	Warn  func(text string) // called with warnings about columns; may be nil

	letters bool // remove white space from texts, because positions in BED count bases
}

// typed reports whether the values of a column keep their Arrow type in the output.
func (t *Table) typed(column string) bool {
	_, ok := t.Types[column]
	return ok && column != ""
}

// tableRow is a row with its request.
type tableRow struct {
	*requests.Request
	place string // location in errors
	name  string // name of a row without an id
	id    any    // string, the JSON of a number, or table.Stored
	kept  []any
	size  int // bytes of the kept columns and the id
}

// Tokens returns the row's size in a batch: its number of tokens or, if larger, 1/16 of the bytes of its
// kept columns and id.
func (r *tableRow) Tokens() int { return max(r.Request.Tokens(), r.size/16) }

// tableReader converts rows to requests.
type tableReader struct {
	*Table
	parser *requests.Parser
	names  *table.Names
	at     map[string]int // index of each column in the values of a row
	all    []string       // columns of the table; nil if each row has its own, as in JSON lines
	bytes  map[string]int // number of values that are not UTF-8, by column of Keep
}

func newTableReader(in *Table, parser *requests.Parser, all []string) *tableReader {
	named := in.Named
	if named == nil {
		named = []string{in.Path}
	}
	r := &tableReader{Table: in, parser: parser, names: table.NewNames(named), at: map[string]int{}, all: all,
		bytes: map[string]int{}}
	for i, name := range in.Options.Columns {
		r.at[name] = i
	}
	return r
}

// read sends a request for each row of the table t to the channel rows.
func (r *tableReader) read(ctx context.Context, t table.Reader, rows chan<- *tableRow) error {
	var row table.Row // reused for all rows
	for {
		err := t.Next(&row)
		if err == io.EOF {
			r.warnOfBytes()
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

// warnOfBytes warns of values in the columns of Keep that are left out because they are not UTF-8.
func (r *tableReader) warnOfBytes() {
	for _, name := range slices.Sorted(maps.Keys(r.bytes)) {
		if r.Warn != nil {
			r.Warn(fmt.Sprintf("%s: column %s: values left out because they are not UTF-8: %d (Parquet and Arrow "+
				"keep bytes)", r.Path, name, r.bytes[name]))
		}
	}
}

// request converts a row to a request. For an invalid row the result has the location of the row, its
// readable columns and a Failure.
func (r *tableReader) request(row *table.Row) *tableRow {
	out := &tableRow{Request: &requests.Request{}, place: row.Position(), name: r.names.RowName(row),
		kept: make([]any, len(r.Keep))}
	err := row.Err
	if row.Uneven {
		r.clearMisplaced(row)
	}
	idAt := -1
	if len(row.Values) == len(r.Options.Columns) {
		for i, name := range r.Keep {
			v, bad := r.written(name, r.series(name, row.Values[r.at[name]]))
			if bad != nil { // the row keeps its prediction
				r.bytes[name]++
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
		out.Sequences, out.Lengths = nil, nil // the first sequence of a pair may be valid
	}
	return out
}

// series converts a kept series in one column to a JSON list of numbers.
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

// clearMisplaced handles a row with the wrong number of fields. It keeps only the columns before the
// first input column of the model. The usual cause is an unquoted delimiter or quote in a text, which
// shifts all later columns.
func (r *tableReader) clearMisplaced(row *table.Row) {
	front := slices.IndexFunc(r.all, func(column string) bool { return slices.Contains(r.Sources, column) })
	for i, name := range r.Options.Columns {
		if at := slices.Index(r.all, name); at < 0 || at >= front {
			row.Values[i] = table.Value{Null: true}
		}
	}
}

// sequence adds the value of a column to a request, as a sequence of tokens or as features.
func (r *tableReader) sequence(to *requests.Request, name string, row *table.Row) error {
	v := row.Values[r.at[name]]
	tokens := v.Tokens
	var err error
	switch {
	case v.Null:
		return fmt.Errorf("column %s: expected a value, found none", name)
	case r.Points && v.Features == nil:
		return fmt.Errorf("column %s: expected a list of features, found %q", name,
			jsonlines.Shorten(v.Text, 40))
	case r.Points:
		if err := r.parser.SetFeatures(to, v.Features); err != nil {
			return fmt.Errorf("column %s: %w", name, err)
		}
		return nil
	case r.Tokens && tokens == nil:
		return fmt.Errorf("column %s: expected a list of token ids, found %q", name,
			jsonlines.Shorten(v.Text, 40))
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
		tokens, err = r.parser.Window(tokens)
	}
	if err != nil {
		return fmt.Errorf("column %s: %w", name, err)
	}
	if len(tokens) < n { // without a copy, the whole sequence would stay in memory
		tokens = slices.Clone(tokens)
	}
	if !r.Tokens {
		r.parser.RecordPositions(to, v.Text, len(tokens))
	}
	to.Sequences, to.Lengths = append(to.Sequences, tokens), append(to.Lengths, n)
	return nil
}

// written converts a column's value for the output. It returns nil for a missing value, and an error for text that
// is not UTF-8.
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
		return nil, fmt.Errorf("column %s: cannot write text that is not valid UTF-8", column)
	}
	return v.Text, nil
}

// sizeOf returns the size of an output value in bytes.
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
