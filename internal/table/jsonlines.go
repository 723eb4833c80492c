package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
}

func newJSONLines(in *source.Source, o Options) (*jsonReader, error) {
	known := map[string]bool{}
	for _, name := range o.Columns {
		known[name] = true
	}
	return &jsonReader{in: in, lines: jsonlines.NewReader(in, o.MaxField), columns: slices.Clone(o.Columns), known: known}, nil
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
	for _, name := range r.columns {
		v, err := valueOf(fields[name])
		if err != nil {
			row.fail(fmt.Errorf("column %s: %w", name, err))
			return nil
		}
		row.Values = append(row.Values, v)
	}
	return nil
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
		v.Text = string(field)
	}
	return v, err
}

// Close closes the file.
func (r *jsonReader) Close() error { return r.in.Close() }
