package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"sftseq/internal/jsonlines"
	"sftseq/internal/source"
)

// jsonReader reads a JSON object a line. The values of a column are strings, numbers
// and true or false, which stand for their text, or lists of whole numbers.
type jsonReader struct {
	in      *source.Source
	lines   *jsonlines.Reader
	columns []string
	known   map[string]bool
	absent  func(file, column string, found []string)
	missing map[string]bool // of known, in no row yet
	objects int             // rows with columns
	found   []string        // columns of the first of them
}

// firstRows is of how many rows the columns are remembered.
const firstRows = 10

func newJSONLines(in *source.Source, o Options) (*jsonReader, error) {
	known := map[string]bool{}
	for _, name := range o.Columns {
		known[name] = true
	}
	return &jsonReader{in: in, lines: jsonlines.NewReader(in, o.MaxField), columns: slices.Clone(o.Columns), known: known,
		absent: o.Absent, missing: maps.Clone(known)}, nil
}

// Columns returns nil: every line may have others.
func (r *jsonReader) Columns() []string { return nil }

// Next returns the next row.
func (r *jsonReader) Next(row *Row) error {
	line, err := r.lines.Next()
	row.begin(r.in.Name, int64(r.lines.Line()))
	var long *jsonlines.TooLong
	switch {
	case err == io.EOF:
		r.tellMissing()
		return io.EOF
	case errors.As(err, &long):
		row.fail(err)
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", r.in.Name, err)
	}
	fields, err := jsonlines.Fields(line, r.known)
	if err != nil {
		row.fail(err)
		return nil
	}
	r.look(line, fields)
	for _, name := range r.columns {
		v, err := valueOf(fields[name])
		if err != nil {
			row.lacks(&v, fmt.Errorf("column %s: %w", name, err))
		}
		row.Values = append(row.Values, v)
	}
	return nil
}

// look notes which columns there are.
func (r *jsonReader) look(line []byte, fields map[string]json.RawMessage) {
	if len(r.missing) == 0 {
		return
	}
	for name := range fields {
		delete(r.missing, name)
	}
	if r.objects++; r.objects > firstRows {
		return
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(line, &all) == nil { // as it was a moment ago
		r.found = slices.AppendSeq(r.found, maps.Keys(all))
		slices.Sort(r.found)
		r.found = slices.Compact(r.found)
	}
}

// tellMissing tells of columns that no row has.
func (r *jsonReader) tellMissing() {
	if r.objects == 0 || r.absent == nil {
		return
	}
	for _, name := range r.columns {
		if r.missing[name] {
			r.absent(r.in.Name, name, r.found)
		}
	}
}

// valueOf is the value of a field, which is missing where it is nil or null.
func valueOf(field json.RawMessage) (v Value, err error) {
	if field == nil || string(field) == "null" {
		return Value{Null: true}, nil
	}
	switch field[0] {
	case '"':
		err = json.Unmarshal(field, &v.Text)
	case '[':
		if v.Tokens, err = jsonlines.Tokens(field); v.Tokens == nil {
			v.Tokens = []int32{} // a list all the same
		}
	case '{':
		err = errors.New("expected a string, a number or a list of numbers, found an object")
	default:
		v.Text, v.JSON = string(field), true
	}
	return v, err
}

// Close closes the file.
func (r *jsonReader) Close() error { return r.in.Close() }
