package table

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"sftseq/internal/source"
)

// tsvReader reads lines of fields between tabs, of which the first names the columns. A
// row is a line, whatever quotes there are: a field that begins and ends with one, and
// has others within it only twice, is what is between them, as some programs write it.
// Every other quote is one.
type tsvReader struct {
	in      *source.Source
	window  *window
	limit   int // bytes of a line
	columns []string
	wanted  []int
	line    int64
}

func newTSV(in *source.Source, o Options) (*tsvReader, error) {
	r := &tsvReader{in: in, window: newWindow(in), limit: o.MaxField}
	header, long, err := r.next()
	switch {
	case err == io.EOF:
		return nil, errors.New("expected a row with the names of the columns, found an empty file")
	case err != nil:
		return nil, err
	case long:
		return nil, fmt.Errorf("the names of the columns have more than %d bytes", r.limit)
	}
	if n := strings.Count(header, "\t") + 1; n > maxColumns {
		return nil, fmt.Errorf("expected a row with the names of at most %d columns, found %d", maxColumns, n)
	}
	for name := range strings.SplitSeq(header, "\t") {
		r.columns = append(r.columns, strings.Clone(unquoted(name)))
	}
	r.wanted, err = index(r.columns, o.Columns)
	return r, err
}

// next returns the next line that is not empty, without its end. What is too long is
// passed over.
func (r *tsvReader) next() (line string, long bool, err error) {
	for line == "" && !long {
		if r.window.text == "" && r.window.last() {
			return "", false, io.EOF
		}
		r.line++
		if line, long, err = r.window.line(r.limit); err != nil {
			return "", false, err
		}
	}
	return line, long, nil
}

// Columns returns what the first row says.
func (r *tsvReader) Columns() []string { return r.columns }

// Next returns the next row.
func (r *tsvReader) Next(row *Row) error {
	line, long, err := r.next()
	row.begin(r.in.Name, r.line)
	switch {
	case err == io.EOF:
		return io.EOF
	case err != nil:
		return fmt.Errorf("%s: behind line %d: %w", r.in.Name, r.line-1, err)
	case long:
		row.fail(fmt.Errorf("the row has more than %d bytes", r.limit))
		return nil
	}
	row.whole = len(line)
	if n := strings.Count(line, "\t") + 1; n != len(r.columns) {
		row.fail(fmt.Errorf("expected %d columns, found %d", len(r.columns), n))
		return nil
	}
	fields := strings.Split(line, "\t")
	for _, at := range r.wanted {
		if !utf8.ValidString(fields[at]) {
			row.fail(fmt.Errorf("column %s: not UTF-8", r.columns[at]))
			return nil
		}
		row.Values = append(row.Values, Value{Text: unquoted(fields[at])})
	}
	return nil
}

// unquoted is what a field in quotes stands for, and every other field.
func unquoted(field string) string {
	if len(field) < 2 || field[0] != '"' || field[len(field)-1] != '"' {
		return field
	}
	inner := field[1 : len(field)-1]
	if strings.Contains(strings.ReplaceAll(inner, `""`, ""), `"`) {
		return field
	}
	return strings.ReplaceAll(inner, `""`, `"`)
}

// Close closes the file.
func (r *tsvReader) Close() error { return r.in.Close() }
