package table

import (
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/source"
)

// lineReader reads a file whose rows are its non-empty lines.
type lineReader struct {
	in      *source.Source
	window  *window
	limit   int // maximum bytes of a line
	columns []string
	wanted  []int // indices of the wanted columns
	line    int64
}

func newLineReader(in *source.Source, o Options, columns []string) (lineReader, error) {
	wanted, err := columnIndices(columns, o.Columns)
	return lineReader{in: in, window: newWindow(in), limit: o.MaxField, columns: columns, wanted: wanted}, err
}

// Columns returns the columns of the format.
func (r *lineReader) Columns() []string { return r.columns }

// Close closes the file.
func (r *lineReader) Close() error { return r.in.Close() }

// begin begins a row with the next line that is not empty after trimming. bad is an error of the
// line, err an error of the file.
func (r *lineReader) begin(row *Row, trim func(string) string) (line string, bad, err error) {
	long := false
	for line == "" && !long {
		if r.window.text == "" && r.window.atEnd() {
			return "", nil, io.EOF
		}
		if line, long, err = r.window.line(r.limit); err != nil {
			return "", nil, fmt.Errorf("%s: after line %d: %w", r.in.Name, r.line, err)
		}
		line = trim(line)
		r.line++
	}
	row.begin(r.in.Name, r.line)
	row.shared = len(line)
	switch {
	case long:
		bad = fmt.Errorf("the line has more than %d bytes", r.limit)
	case !utf8.ValidString(line):
		bad = jsonlines.ErrNotUTF8
	}
	return line, bad, nil
}
