package table

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sftseq/sftseq/internal/source"
)

// csvReader reads rows of fields between commas, or between other signs that [Options]
// name, of which the first names the columns. A field in double quotes may have anything (RFC 4180). Rows and errors
// are those of encoding/csv, whose strings for each row cost more than all else of a conversion.
type csvReader struct {
	delimited
	comma  byte     // is between two fields
	fields []string // fields of a row
	line   int64    // where the next row begins
	last   int64    // where the row before did
}

func newCSV(in *source.Source, o Options) (*csvReader, error) {
	r := &csvReader{delimited: newDelimited(in, o), comma: ',', line: 1}
	if o.Delimiter != 0 {
		r.comma = o.Delimiter
	}
	header, _, _ := strings.Cut(strings.TrimLeft(r.window.text, "\r\n"), "\n")
	s, _, err := r.read(maxColumns)
	if err == io.EOF {
		return nil, errNoHeader
	}
	var bad *csvError
	if errors.As(err, &bad) { // quotes in the midst of a field may be at its ends in truth
		return nil, fmt.Errorf("line %d: %w%s", r.last, err, otherDelimiter([]string{header}, o.Columns, r.comma))
	}
	if err != nil {
		return nil, err
	}
	return r, r.nameColumns(s.fields, s.count, o.Columns, r.comma)
}

// Next returns the next row.
func (r *csvReader) Next(row *Row) error {
	s, size, err := r.read(len(r.columns))
	row.begin(r.in.Name, r.last)
	row.whole = size
	if err != nil {
		return r.fail(row, s.fields, err)
	}
	r.take(row, s.fields, s.count)
	return nil
}

// fail says what is wrong with a row behind the fields that were found, or is the error of
// all that follows.
func (r *csvReader) fail(row *Row, fields []string, err error) error {
	var bad *csvError
	switch {
	case errors.As(err, &bad) && bad.line > 0 && bad.err == csv.ErrQuote:
		// Rows may have gone into a field whose quote is not closed: nobody knows how many.
		return fmt.Errorf("%s:%d: a field in quotes is not closed, or not before line %d, column %d: write a quote within a field twice",
			r.in.Name, r.last, r.last+int64(bad.line), bad.column)
	case bad != nil:
		r.takeUneven(row, fields, err)
		return nil
	case err == io.EOF:
		return io.EOF
	}
	return fmt.Errorf("%s: %w", r.in.Name, err)
}

// read finds the fields of the next row that is not empty, up to most of them, and its size in bytes.
func (r *csvReader) read(most int) (s csvSplitter, size int, err error) {
	for {
		s = csvSplitter{text: r.window.text, comma: r.comma, last: r.window.last(), most: most, fields: r.fields[:0]}
		size, err = s.split()
		r.fields = s.fields
		switch {
		case len(strings.TrimSuffix(strings.TrimSuffix(s.text[:size], "\n"), "\r")) > r.limit:
			return s, 0, fmt.Errorf("behind line %d: a row has more than %d bytes: is a quote not closed?", r.last,
				r.limit)
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
