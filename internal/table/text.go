package table

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sftseq/sftseq/internal/source"
)

// TextColumns are the columns of text files: a line, its number from 1, and the name of the file.
var TextColumns = []string{"text", "line", "file"}

// textReader reads text files and logs. Every non-empty line is a row.
type textReader struct {
	lineReader
	note                     func(line string) // may be nil
	lines, objects, labelled int               // counts of the first lines
}

// firstLines is the number of lines that decide whether a text has a different format.
const firstLines = 100

// checkFormat counts lines that are JSON objects or begin with a fastText label. After firstLines
// lines, or at the end of a shorter file, it writes a note if all lines are in one of these formats. last
// means that the file has ended, and line is not counted.
func (r *textReader) checkFormat(line string, last bool) {
	if r.note == nil || r.lines > firstLines {
		return
	}
	if !last {
		r.lines++
		if strings.HasPrefix(line, "{") && json.Valid([]byte(line)) {
			r.objects++
		}
		if strings.HasPrefix(line, fastTextLabel) {
			r.labelled++
		}
	}
	if !last && r.lines < firstLines || r.lines == 0 {
		return
	}
	switch {
	case r.objects == r.lines:
		r.note(fmt.Sprintf("%s: lines are JSON objects but are read as text: read the fields with --format jsonl",
			r.in.Name))
	case r.labelled == r.lines:
		r.note(fmt.Sprintf("%s: lines begin with %s, as in fastText's format, so the text contains the label: "+
			"write a table with one column for the text and one for the label", r.in.Name, fastTextLabel))
	}
	r.lines = firstLines + 1
}

// fastTextLabel is the prefix of a label in fastText's format.
const fastTextLabel = "__label__"

func newText(in *source.Source, o Options) (*textReader, error) {
	lines, err := newLineReader(in, o, TextColumns)
	return &textReader{lineReader: lines, note: o.Note}, err
}

// Next reads the next line into row. It returns io.EOF after the last line.
func (r *textReader) Next(row *Row) error {
	line, bad, err := r.begin(row, func(line string) string { return line })
	if err != nil {
		if err == io.EOF {
			r.checkFormat("", true)
		}
		return err
	}
	r.checkFormat(line, false)
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
				row.setNull(&v, bad)
			}
		}
		row.Values = append(row.Values, v)
	}
	return nil
}
