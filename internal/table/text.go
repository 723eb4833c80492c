package table

import (
	"path/filepath"
	"strconv"

	"github.com/sftseq/sftseq/internal/source"
)

// TextColumns are those of text: a line, its number from 1, and the name of its file.
var TextColumns = []string{"text", "line", "file"}

// textReader reads text and logs: every line that is not empty is a row.
type textReader struct{ lineReader }

func newText(in *source.Source, o Options) (*textReader, error) {
	lines, err := newLineReader(in, o, TextColumns)
	return &textReader{lines}, err
}

// Next returns the next line.
func (r *textReader) Next(row *Row) error {
	line, bad, err := r.begin(row, func(line string) string { return line })
	if err != nil {
		return err
	}
	row.Err = bad
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
