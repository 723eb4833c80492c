package table

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"sftseq/internal/source"
)

// csvReader reads rows of fields between commas, of which the first names the columns. A
// field in double quotes may have anything (RFC 4180). Rows and errors are those of
// encoding/csv, whose strings for each row cost more than all else of a conversion.
type csvReader struct {
	in      *source.Source
	window  *window
	limit   int // bytes of a row
	columns []string
	wanted  []int
	fields  []string // of a row
	line    int64    // where the next row begins
	last    int64    // where the row before did
}

// maxColumns is more than a table has that is one.
const maxColumns = 1 << 16

func newCSV(in *source.Source, o Options) (*csvReader, error) {
	r := &csvReader{in: in, window: newWindow(in), limit: o.MaxField, line: 1}
	s, _, err := r.read(maxColumns)
	switch {
	case err == io.EOF:
		return nil, errors.New("expected a row with the names of the columns, found an empty file")
	case err != nil:
		return nil, err
	case s.count > maxColumns:
		return nil, fmt.Errorf("expected a row with the names of at most %d columns, found %d", maxColumns, s.count)
	}
	for _, name := range s.fields {
		r.columns = append(r.columns, strings.Clone(name))
	}
	r.wanted, err = index(r.columns, o.Columns)
	return r, err
}

// Columns returns what the first row says.
func (r *csvReader) Columns() []string { return r.columns }

// Next returns the next row.
func (r *csvReader) Next(row *Row) error {
	s, size, err := r.read(len(r.columns))
	row.begin(r.in.Name, r.last)
	row.whole = size
	var bad *csvError
	switch {
	case errors.As(err, &bad) && bad.line > 0 && bad.err == csv.ErrQuote:
		// Rows may have gone into a field whose quote is not closed: nobody knows how many.
		return fmt.Errorf("%s:%d: a field in quotes is not closed, or not before line %d, column %d: write a quote within a field twice",
			r.in.Name, r.last, r.last+int64(bad.line), bad.column)
	case bad != nil:
		row.fail(err)
		return nil
	case err == io.EOF:
		return io.EOF
	case err != nil:
		return fmt.Errorf("%s: %w", r.in.Name, err)
	case s.count != len(r.columns):
		row.fail(fmt.Errorf("expected %d columns, found %d", len(r.columns), s.count))
		return nil
	}
	for _, at := range r.wanted {
		if !utf8.ValidString(s.fields[at]) {
			row.fail(fmt.Errorf("column %s: not UTF-8", r.columns[at]))
			return nil
		}
		row.Values = append(row.Values, Value{Text: s.fields[at]})
	}
	return nil
}

// read finds the fields of the next row that is not empty, up to so many, and how many
// bytes it has.
func (r *csvReader) read(most int) (s csvSplitter, size int, err error) {
	for {
		s = csvSplitter{text: r.window.text, last: r.window.last(), most: most, fields: r.fields[:0]}
		size, err = s.split()
		r.fields = s.fields
		switch {
		case len(strings.TrimSuffix(strings.TrimSuffix(s.text[:size], "\n"), "\r")) > r.limit:
			return s, 0, fmt.Errorf("behind line %d: a row has more than %d bytes: is a quote not closed?", r.last, r.limit)
		case err == errIncomplete && r.window.err == nil:
			r.window.more()
			continue
		case err == errIncomplete: // and never will be
			return s, 0, r.window.err
		case size == 0:
			return s, 0, io.EOF
		}
		r.last = r.line
		r.line += int64(1 + s.inner)
		r.window.skip(size)
		if s.count > 0 || err != nil {
			return s, size, err
		}
	}
}

// Close closes the file.
func (r *csvReader) Close() error { return r.in.Close() }
