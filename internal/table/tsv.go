package table

import (
	"fmt"
	"io"
	"strings"

	"github.com/sftseq/sftseq/internal/source"
)

// tsvReader reads lines of tab-separated fields. The first line names the columns. A field between
// double quotes, whose inner quotes are doubled, is unquoted; all other quotes are literal.
//
// A quoted field may contain tabs and line ends. They are part of the field only if one of the
// separate lines has the wrong number of fields and the joined lines have a field for each column.
// Otherwise, each line is a row. [delimitedWriter] rejects rows that this rule would split. Within a
// field, the line end "\r\n" is read as "\n".
type tsvReader struct {
	delimited
	fields []string // fields of a row
	joined []string // fields of a row with quoted tabs or line ends
	line   int64
}

func newTSV(in *source.Source, o Options) (*tsvReader, error) {
	r := &tsvReader{delimited: newDelimited(in, o)}
	found := binaryKind(r.window.text)
	header, long, err := r.nextLine()
	switch {
	case err == io.EOF:
		return nil, errNoHeader
	case err != nil:
		return nil, err
	case long:
		return nil, fmt.Errorf("the header has more than %d bytes", r.limit)
	}
	fields, count := r.split(header, maxColumns)
	if err := r.nameColumns(fields, count, o.Columns, '\t'); err != nil {
		if found != "" {
			err = notTable(found)
		}
		return nil, err
	}
	return r, nil
}

// nextLine returns the next non-empty line without its line end. A line beyond the limit is
// skipped, and long is true.
func (r *tsvReader) nextLine() (line string, long bool, err error) {
	for line == "" && !long {
		if r.window.text == "" && r.window.atEnd() {
			return "", false, io.EOF
		}
		r.line++
		if line, long, err = r.window.line(r.limit); err != nil {
			return "", false, err
		}
	}
	return line, long, nil
}

// split returns the first maxFields fields of a line, and the number of all its fields.
func (r *tsvReader) split(line string, maxFields int) (fields []string, count int) {
	count = strings.Count(line, "\t") + 1
	r.fields = r.fields[:0]
	for field := range strings.SplitSeq(line, "\t") {
		if len(r.fields) == maxFields {
			break
		}
		r.fields = append(r.fields, unquote(field))
	}
	return r.fields, count
}

// Next reads the next row into row. It returns io.EOF after the last row.
func (r *tsvReader) Next(row *Row) error {
	line, long, err := r.nextLine()
	row.begin(r.in.Name, r.line)
	switch {
	case err == io.EOF:
		return io.EOF
	case err != nil:
		return fmt.Errorf("%s: after line %d: %w", r.in.Name, r.line-1, err)
	case long:
		row.fail(fmt.Errorf("the row has more than %d bytes", r.limit))
		return nil
	}
	row.shared = len(line)
	fields, count := r.split(line, len(r.columns))
	if whole, lines, ok := r.readQuoted(line, count); ok {
		fields, count = r.joined, len(r.joined)
		r.line += int64(lines)
		row.shared = whole
	}
	r.setFields(row, fields, count)
	return nil
}

// unquote returns the content of a quoted field, and other fields unchanged.
func unquote(field string) string {
	if len(field) < 2 || field[0] != '"' || field[len(field)-1] != '"' {
		return field
	}
	inner := field[1 : len(field)-1]
	if strings.Contains(strings.ReplaceAll(inner, `""`, ""), `"`) {
		return field
	}
	return strings.ReplaceAll(inner, `""`, `"`)
}
