package table

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"unicode/utf8"

	"github.com/sftseq/sftseq/internal/source"
)

// TextColumns are those of text: a line, its number from 1, and the name of its file.
var TextColumns = []string{"text", "line", "file"}

// textReader reads text and logs: every line that is not empty is a row.
type textReader struct {
	in     *source.Source
	window *window
	limit  int // bytes of a line
	wanted []int
	line   int64
}

func newText(in *source.Source, o Options) (*textReader, error) {
	wanted, err := index(TextColumns, o.Columns)
	return &textReader{in: in, window: newWindow(in), limit: o.MaxField, wanted: wanted}, err
}

// Columns returns [TextColumns].
func (r *textReader) Columns() []string { return TextColumns }

// Next returns the next line.
func (r *textReader) Next(row *Row) error {
	line, long := "", false
	for line == "" && !long {
		if r.window.text == "" && r.window.last() {
			return io.EOF
		}
		var err error
		if line, long, err = r.window.line(r.limit); err != nil {
			return fmt.Errorf("%s: behind line %d: %w", r.in.Name, r.line, err)
		}
		r.line++
	}
	row.begin(r.in.Name, r.line)
	var bad error
	switch {
	case long:
		bad = fmt.Errorf("the line has more than %d bytes", r.limit)
	case !utf8.ValidString(line):
		bad = errors.New("not UTF-8")
	}
	row.Err, row.whole = bad, len(line)
	for _, at := range r.wanted {
		v := Value{Text: line}
		switch TextColumns[at] {
		case "line":
			v.Text = strconv.FormatInt(r.line, 10)
		case "file":
			v.Text = filepath.Base(r.in.Name)
		default:
			if bad != nil {
				row.lacks(&v, bad)
			}
		}
		row.Values = append(row.Values, v)
	}
	return nil
}

// Close closes the file.
func (r *textReader) Close() error { return r.in.Close() }
