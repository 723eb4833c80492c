package table

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/source"
)

// jsonReader reads one JSON object per line.
type jsonReader struct {
	in    *source.Source
	lines *jsonlines.Reader
	part  *Part // nil for all lines
	*jsonColumns
}

func newJSONLines(in *source.Source, o Options) (*jsonReader, error) {
	r := &jsonReader{in: in, lines: jsonlines.NewReader(in, o.MaxField), part: o.part,
		jsonColumns: newJSONColumns(in.Name, o)}
	if o.part == nil || o.part.From == 0 {
		return r, nil
	}
	rest, at, err := linesFrom(in, o.part.From)
	r.lines = jsonlines.NewReaderAt(rest, o.MaxField, at)
	return r, err
}

// linesFrom finds the first line that begins at or after a byte offset. It returns a reader that starts
// at that line, and the offset of the line.
func linesFrom(in *source.Source, at int64) (rest io.Reader, start int64, err error) {
	whole := in.Whole()
	if whole == nil {
		return nil, 0, errors.New("expected a seekable file, found a pipe or a compressed file")
	}
	at = min(at-1, whole.Size()) // the previous line may end just before at
	buffer := bufio.NewReaderSize(io.NewSectionReader(whole, at, whole.Size()-at), 1<<16)
	for {
		line, err := buffer.ReadSlice('\n')
		at += int64(len(line))
		if err == nil || err == io.EOF {
			return buffer, at, nil
		}
		if err != bufio.ErrBufferFull {
			return nil, 0, err
		}
	}
}

// Columns returns nil, because every line may have different columns.
func (r *jsonReader) Columns() []string { return nil }

// Next reads the next row into row. It returns io.EOF after the last row.
func (r *jsonReader) Next(row *Row) error {
	line, err := r.lines.Next()
	row.begin(r.in.Name, int64(r.lines.Line()))
	if r.part != nil {
		row.Line, row.Byte = 0, r.lines.Start()+1
		switch start := r.lines.Start(); {
		case start >= r.part.To:
			err = io.EOF
		case err == io.EOF && r.part.To != math.MaxInt64:
			return fmt.Errorf("%s: expected at least %d bytes, found %d: was the file changed?",
				r.in.Name, r.part.To, start)
		}
	}
	var long *jsonlines.TooLong
	switch {
	case err == io.EOF:
		r.reportMissing()
		return io.EOF
	case errors.As(err, &long):
		row.fail(err)
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", r.in.Name, err)
	}
	r.read(row, line)
	if row.Err != nil && row.Line == 1 && beginsList(line) {
		row.Err = fmt.Errorf("%w (read a file that is a single JSON list with --format json)", row.Err)
	}
	return nil
}

// beginsList reports whether a line begins a list of objects.
func beginsList(line []byte) bool {
	inner, list := bytes.CutPrefix(bytes.TrimSpace(line), []byte("["))
	inner = bytes.TrimSpace(inner)
	return list && (len(inner) == 0 || inner[0] == '{')
}

// Close closes the file.
func (r *jsonReader) Close() error { return r.in.Close() }

// jsonColumns extracts columns from JSON objects. Values are strings, numbers, booleans or lists;
// copied columns may also have objects. Numbers and booleans are returned as text.
type jsonColumns struct {
	file          string
	columns       []string
	copied        []string        // columns whose lists and objects become compact JSON
	lists         []string        // columns of lists of texts
	features      []string        // columns of token features
	series        []string        // columns of lists of numbers
	keys          map[string]bool // keys with which a column path may begin
	missingColumn func(file, column string, found []string)
	missing       map[string]bool // columns absent from all rows so far
	objects       int             // number of rows read while a column was missing
	found         []string        // columns of the first rows
}

// firstRows is the number of rows at the start of a file that are searched for column names.
const firstRows = 10

func newJSONColumns(file string, o Options) *jsonColumns {
	c := &jsonColumns{file: file, columns: slices.Clone(o.Columns), copied: o.Copied, lists: o.Lists,
		features: o.Features, series: o.series, keys: map[string]bool{}, missingColumn: o.MissingColumn,
		missing: map[string]bool{}}
	for _, name := range o.Columns {
		c.missing[name] = true
		for _, key := range pathKeys(name) {
			c.keys[key] = true
		}
	}
	return c
}

// isMissing reports whether column is wanted and no row so far has it.
func (c *jsonColumns) isMissing(column string) bool { return c.missing[column] }

// read sets a row to the columns of a JSON object.
func (c *jsonColumns) read(row *Row, object []byte) {
	fields, err := jsonlines.Fields(object, c.keys)
	if err != nil {
		row.fail(err)
		return
	}
	c.recordColumns(object)
	for _, name := range c.columns {
		field, err := lookUp(fields, name)
		if field != nil {
			delete(c.missing, name)
		}
		var v Value
		if err == nil && len(field) > 0 && field[0] == '[' && slices.Contains(c.series, name) {
			v, err = parseSeries(field)
		} else if err == nil && len(field) > 0 && (field[0] == '[' || field[0] == '{') &&
			slices.Contains(c.copied, name) {
			v, err = compactJSON(field)
		} else if err == nil && len(field) > 0 && field[0] == '[' && slices.Contains(c.lists, name) {
			v, err = parseItems(field)
		} else if err == nil && len(field) > 0 && field[0] == '[' && slices.Contains(c.features, name) {
			v, err = parseFeatures(field)
		} else if err == nil {
			v, err = valueOf(field)
		}
		if err != nil {
			row.setNull(&v, &ColumnError{name, field != nil && field[0] == '[', fmt.Errorf("column %s: %w", name, err)})
		}
		row.Values = append(row.Values, v)
	}
}

// recordColumns records the columns of the first rows while a wanted column is missing.
func (c *jsonColumns) recordColumns(object []byte) {
	if len(c.missing) == 0 {
		return
	}
	if c.objects++; c.objects > firstRows {
		return
	}
	c.found = append(c.found, paths(object, "", 1)...)
	slices.Sort(c.found)
	c.found = slices.Compact(c.found)
}

// reportMissing reports wanted columns that no row has.
func (c *jsonColumns) reportMissing() {
	if c.objects == 0 || c.missingColumn == nil {
		return
	}
	for _, name := range c.columns {
		if c.missing[name] {
			c.missingColumn(c.file, name, c.found)
		}
	}
}

// compactJSON returns a list or an object as JSON in one line.
func compactJSON(field json.RawMessage) (Value, error) {
	var line bytes.Buffer
	err := json.Compact(&line, field)
	return Value{Text: line.String(), JSON: true}, err
}

// maxListed is the maximum number of existing columns in the error for a missing column.
const maxListed = 20

// MissingColumnText formats the arguments of [Options.MissingColumn] as a message.
func MissingColumnText(file, column string, found []string) string {
	return fmt.Sprintf("%s: no row has the column %q; the first rows have %.100q", file, column,
		found[:min(len(found), maxListed)])
}

// valueOf returns the value of a field. A nil or null field is null.
func valueOf(field json.RawMessage) (v Value, err error) {
	if field == nil || string(field) == "null" {
		return Value{Null: true}, nil
	}
	switch field[0] {
	case '"':
		v.Text, err = jsonlines.Text(field)
	case '[':
		if v.Tokens, err = jsonlines.Tokens(field); v.Tokens == nil {
			v.Tokens = []int32{} // nil would mean that the value is not a list
		}
	case '{':
		err = errors.New("expected a string, a number or a list of numbers, found an object")
	default:
		v.Text, v.JSON = string(field), true
	}
	return v, err
}
