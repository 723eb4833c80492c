package table

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/source"
)

// delimited is a table of delimited fields whose first row names the columns.
type delimited struct {
	in      *source.Source
	window  *window
	limit   int // maximum bytes of a row
	columns []string
	wanted  []int // indices of the wanted columns
}

// maxColumns is the maximum number of columns. A first row with more columns is refused.
const maxColumns = 1 << 16

// errNoHeader is the error of an empty file.
var errNoHeader = errors.New("expected a header with column names, found an empty file")

func newDelimited(in *source.Source, o Options) delimited {
	return delimited{in: in, window: newWindow(in), limit: o.MaxField}
}

// nameColumns sets the columns from the first row. count is the number of fields in the row; the slice
// fields may hold only the first few.
func (d *delimited) nameColumns(fields []string, count int, wanted []string, delimiter byte) (err error) {
	if count > maxColumns {
		return fmt.Errorf("expected a header of at most %d columns, found %d", maxColumns, count)
	}
	for _, name := range fields {
		d.columns = append(d.columns, strings.Clone(name))
	}
	if d.wanted, err = columnIndices(d.columns, wanted); err != nil {
		hint := delimiterHint(d.columns, wanted, delimiter)
		if hint == "" {
			hint = headerHint(d.columns)
		}
		err = fmt.Errorf("%w%s", err, hint)
	}
	return err
}

// headerHint returns the reason why the first row of a file may not be a header, or "".
func headerHint(columns []string) string {
	if strings.HasPrefix(columns[0], lfsPointer) {
		return ": found a Git LFS pointer (fetch the file with git lfs pull)"
	}
	for _, name := range columns {
		if strings.Contains(strings.TrimRight(name, "\r"), "\r") {
			return ": found lines that end with carriage returns only: convert them to line feeds, for example with tr '\\r' '\\n'"
		}
	}
	for _, name := range columns {
		if _, err := strconv.ParseFloat(name, 64); err == nil || len(name) > longName {
			return fmt.Sprintf(": the first row looks like data (%.40q): is the header with the column names missing?", name)
		}
	}
	return ""
}

// longName is the maximum number of bytes of a plausible column name.
const longName = 100

// Delimiters maps names to delimiters.
var Delimiters = map[string]byte{"comma": ',', "semicolon": ';', "tab": '\t', `\t`: '\t', "pipe": '|', "space": ' '}

// ParseDelimiter parses a delimiter: a name of [Delimiters], or an ASCII character except a quote, a
// line end and NUL.
func ParseDelimiter(text string) (byte, error) {
	if b, ok := Delimiters[text]; ok {
		return b, nil
	}
	if len(text) != 1 || text[0] >= utf8.RuneSelf || strings.Contains("\"\r\n\x00", text) {
		return 0, fmt.Errorf("expected one ASCII character other than a quote, such as ; or |, or one of %s",
			strings.Join(slices.Sorted(maps.Keys(Delimiters)), ", "))
	}
	return text[0], nil
}

// delimiterHint returns a hint at another delimiter, or "". The other delimiter must yield the wanted
// columns, or split a first row of a single column.
func delimiterHint(columns, wanted []string, delimiter byte) string {
	header := strings.Join(columns, string(delimiter))
	for _, other := range []byte{';', '\t', '|', ','} {
		if other == delimiter || !strings.Contains(header, string(other)) {
			continue
		}
		var found []string
		for field := range strings.SplitSeq(header, string(other)) {
			found = append(found, unquote(strings.TrimSpace(field)))
		}
		if _, err := columnIndices(found, wanted); err != nil && len(columns) > 1 {
			continue // several columns, and another delimiter does not yield the wanted columns either
		}
		name := string(other)
		if other == '\t' {
			name = "tab"
		}
		return fmt.Sprintf("; the delimiter seems to be %q: read the file with --format csv --delimiter '%s'",
			other, name)
	}
	return ""
}

// Columns returns the names in the first row.
func (d *delimited) Columns() []string { return d.columns }

// setFields sets the values of a row. count is the number of fields in the row; the slice fields may hold
// only the first few.
func (d *delimited) setFields(row *Row, fields []string, count int) {
	if count != len(d.columns) {
		d.setUneven(row, fields, fmt.Errorf("expected %d columns, found %d", len(d.columns), count))
		return
	}
	if count > 1 && slices.Equal(fields, d.columns) { // a header repeated in joined files
		d.setUneven(row, nil, errors.New("expected values, found the header again"))
		return
	}
	for _, at := range d.wanted {
		v := Value{Text: fields[at]}
		if !utf8.ValidString(v.Text) {
			row.setNull(&v, fmt.Errorf("column %s: %w", d.columns[at], jsonlines.ErrNotUTF8))
		}
		row.Values = append(row.Values, v)
	}
}

// setUneven sets the values and the error of a malformed row. The row keeps the fields before the
// error, because they may identify the row.
func (d *delimited) setUneven(row *Row, fields []string, err error) {
	row.Err, row.Uneven = err, true
	for _, at := range d.wanted {
		v := Value{Null: true}
		if at < len(fields) && utf8.ValidString(fields[at]) {
			v = Value{Text: fields[at]}
		}
		row.Values = append(row.Values, v)
	}
}

// Close closes the file.
func (d *delimited) Close() error { return d.in.Close() }
