package table

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// csvReader reads rows of fields between commas, of which the first names the columns. A
// field in double quotes may have anything (RFC 4180).
type csvReader struct {
	in      *input
	limited *limited
	csv     *csv.Reader
	columns []string
	wanted  []int
	last    int64 // line of the row before
}

func newCSV(in *input, o Options) (*csvReader, error) {
	r := &csvReader{in: in, limited: &limited{r: bufio.NewReaderSize(in, 16), limit: o.MaxField}}
	r.limited.left = o.MaxField
	if bom, _ := r.limited.r.Peek(3); string(bom) == "\xef\xbb\xbf" {
		r.limited.r.Discard(3)
	}
	r.csv = csv.NewReader(bufio.NewReaderSize(r.limited, min(64<<10, o.MaxField))) // its own buffer is small
	r.csv.ReuseRecord = true
	header, err := r.csv.Read()
	if err == io.EOF {
		return nil, errors.New("expected a row with the names of the columns, found an empty file")
	}
	if err != nil {
		return nil, r.explain(err)
	}
	r.columns = slices.Clone(header)
	if r.wanted, err = index(r.columns, o.Columns); err != nil {
		return nil, err
	}
	return r, nil
}

// Columns returns what the first row says.
func (r *csvReader) Columns() []string { return r.columns }

// Next returns the next row.
func (r *csvReader) Next(row *Row) error {
	r.limited.left = r.limited.limit
	before := r.csv.InputOffset()
	fields, err := r.csv.Read()
	row.begin(r.in.name, 0)
	var bad *csv.ParseError
	switch {
	case err == nil:
	case err == io.EOF:
		return io.EOF
	case errors.Is(err, csv.ErrFieldCount):
		row.Line = int64(err.(*csv.ParseError).StartLine)
		row.fail(fmt.Errorf("expected %d columns, found %d", len(r.columns), len(fields)))
		return nil
	case errors.As(err, &bad) && bad.Line > bad.StartLine && errors.Is(err, csv.ErrQuote):
		// Rows may have gone into a field whose quote is not closed: nobody knows how many.
		return fmt.Errorf("%s:%d: a field in quotes is not closed, or not before line %d, column %d: write a quote within a field twice",
			r.in.name, bad.StartLine, bad.Line, bad.Column)
	case errors.As(err, &bad):
		row.Line = int64(bad.StartLine)
		row.fail(fmt.Errorf("column %d: %w", bad.Column, bad.Err))
		return nil
	default:
		return fmt.Errorf("%s: %w", r.in.name, r.explain(err))
	}
	line, _ := r.csv.FieldPos(0)
	row.Line, r.last = int64(line), int64(line)
	row.whole = int(r.csv.InputOffset() - before)
	for _, at := range r.wanted {
		if !utf8.ValidString(fields[at]) {
			row.fail(fmt.Errorf("column %s: not UTF-8", r.columns[at]))
			return nil
		}
		row.Values = append(row.Values, Value{Text: fields[at]})
	}
	return nil
}

// explain says where a row without an end is.
func (r *csvReader) explain(err error) error {
	if errors.Is(err, errTooLong) {
		return fmt.Errorf("behind line %d: a row has more than %d bytes: is a quote not closed?", r.last, r.limited.limit)
	}
	return err
}

// Close closes the file.
func (r *csvReader) Close() error { return r.in.Close() }

// limited ends the reading of a row that is too long: encoding/csv would keep all of a
// file behind a quote that is not closed.
type limited struct {
	r     *bufio.Reader
	limit int
	left  int // of the row
}

func (l *limited) Read(b []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLong
	}
	n, err := l.r.Read(b)
	l.left -= n
	return n, err
}
