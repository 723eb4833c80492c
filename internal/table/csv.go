package table

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sftseq/sftseq/internal/source"
)

// csvReader reads rows of fields separated by commas or by the delimiter in [Options]. The first
// row names the columns. Quoted fields may contain any character (RFC 4180). Rows and error
// positions are those of encoding/csv, which is not used because allocating its strings for each row
// takes longer than the rest of a conversion.
type csvReader struct {
	delimited
	comma    byte     // delimiter
	fields   []string // fields of a row
	line     int64    // line of the next row
	previous int64    // line of the row read last
}

func newCSV(in *source.Source, o Options) (*csvReader, error) {
	r := &csvReader{delimited: newDelimited(in, o), comma: ',', line: 1}
	if o.Delimiter != 0 {
		r.comma = o.Delimiter
	}
	header, _, _ := strings.Cut(strings.TrimLeft(r.window.text, "\r\n"), "\n")
	found := binaryKind(r.window.text)
	s, _, err := r.read(maxColumns)
	if err == io.EOF {
		return nil, errNoHeader
	}
	if _, ok := errors.AsType[*csvError](err); ok && found != "" {
		return nil, notTable(found)
	} else if ok { // a quote within a field may result from a wrong delimiter
		return nil, fmt.Errorf("line %d: %w%s", r.previous, err, delimiterHint([]string{header}, o.Columns, r.comma))
	}
	if err != nil {
		return nil, err
	}
	err = r.nameColumns(s.fields, s.count, o.Columns, r.comma)
	if err != nil && found != "" {
		err = notTable(found)
	}
	return r, err
}

// binaryKind describes the content of a file that is not text, or returns "" for text.
func binaryKind(text string) string {
	if kind := packedKind([]byte(text)); kind != "" {
		return "a file of the format " + kind
	}
	if strings.IndexByte(text, 0) >= 0 {
		return "binary data"
	}
	return ""
}

// notTable returns the error for a file that is read as a table of text but has other content.
func notTable(found string) error {
	return fmt.Errorf("expected a table of text, found %s: pass a table, or name the format of the file with --format",
		found)
}

// Next reads the next row into row. It returns io.EOF after the last row.
func (r *csvReader) Next(row *Row) error {
	s, size, err := r.read(len(r.columns))
	row.begin(r.in.Name, r.previous)
	row.shared = size
	if err != nil {
		return r.fail(row, s.fields, err)
	}
	r.setFields(row, s.fields, s.count)
	return nil
}

// fail sets the error of a row that is malformed after the given fields, and returns nil. If the
// following rows cannot be read either, fail returns an error.
func (r *csvReader) fail(row *Row, fields []string, err error) error {
	var bad *csvError
	switch {
	case errors.As(err, &bad) && bad.err == csv.ErrQuote && (bad.line > 0 || bad.unclosed):
		// An unknown number of rows may be part of a field whose quote is not closed. An unclosed quote in
		// the last row is reported as the same error, although no row follows it.
		return fmt.Errorf("%s:%d: a quoted field is not closed before line %d, column %d: escape a quote within a field by "+
			"doubling it",
			r.in.Name, r.previous, r.previous+int64(bad.line), bad.column)
	case bad != nil:
		r.setUneven(row, fields, err)
		return nil
	case err == io.EOF:
		return io.EOF
	}
	return fmt.Errorf("%s: %w", r.in.Name, err)
}

// read returns the next row that is not empty, and the row's size in bytes. It keeps at most the first
// maxFields fields.
func (r *csvReader) read(maxFields int) (s csvSplitter, size int, err error) {
	for {
		s = csvSplitter{text: r.window.text, comma: r.comma, last: r.window.atEnd(), maxFields: maxFields,
			fields: r.fields[:0]}
		size, err = s.split()
		r.fields = s.fields
		switch {
		case len(strings.TrimSuffix(strings.TrimSuffix(s.text[:size], "\n"), "\r")) > r.limit:
			return s, 0, fmt.Errorf("after line %d: a row has more than %d bytes: is a quote not closed?", r.previous,
				r.limit)
		case err == errIncomplete && r.window.err == nil:
			r.window.readMore()
			continue
		case err == errIncomplete: // after a read error, the row cannot become complete
			return s, 0, r.window.err
		case size == 0:
			return s, 0, io.EOF
		}
		r.previous = r.line
		r.line += int64(1 + s.lineEnds)
		r.window.skip(size)
		if s.count > 0 || err != nil {
			return s, size, err
		}
	}
}
