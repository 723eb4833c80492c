package table

import (
	"encoding/csv"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// delimitedWriter writes fields separated by commas or tabs, after a row of names. A vector has a
// column for each of its numbers: NAME_0, NAME_1, ….
type delimitedWriter struct {
	w       *csv.Writer
	columns []OutputColumn
	fields  []string // fields of a row
	safe    bool     // texts that a spreadsheet would evaluate get a leading apostrophe
}

func newDelimitedWriter(w io.Writer, comma rune, columns []OutputColumn, safe bool) (*delimitedWriter, error) {
	d := &delimitedWriter{w: csv.NewWriter(w), columns: columns, safe: safe}
	d.w.Comma = comma
	for _, c := range columns {
		switch c.Kind {
		case ObjectColumn:
			return nil, fmt.Errorf("column %s: expected JSON lines, because other formats cannot store its values", c.Name)
		case ListColumn:
			return nil, fmt.Errorf("column %s: CSV and TSV cannot store lists of variable length: "+
				"write JSON lines, Parquet or Arrow", c.Name)
		case VectorColumn:
			for i := range c.Width {
				d.fields = append(d.fields, d.protect(fmt.Sprintf("%s_%d", c.Name, i)))
			}
		default:
			d.fields = append(d.fields, d.protect(c.Name))
		}
	}
	return d, d.w.Write(d.fields)
}

// Write writes a row.
func (d *delimitedWriter) Write(row []any) error {
	d.fields = d.fields[:0]
	for i := range d.columns {
		if err := d.add(&d.columns[i], row[i]); err != nil {
			return err
		}
	}
	if d.w.Comma == '\t' && d.rowsByLine() {
		return fmt.Errorf("found a text whose lines would be read as rows of %d columns in TSV: "+
			"write CSV, Parquet or JSON lines", len(d.fields))
	}
	return d.w.Write(d.fields)
}

// rowsByLine reports whether [tsvReader] would read each line of a multi-line row as a row.
func (d *delimitedWriter) rowsByLine() bool {
	lines := strings.Split(strings.Join(d.fields, "\t"), "\n")
	if len(lines) == 1 {
		return false
	}
	for _, line := range lines[1:] {
		if line = strings.TrimSuffix(line, "\r"); line != "" && strings.Count(line, "\t")+1 != len(d.fields) {
			return false
		}
	}
	return strings.Count(lines[0], "\t")+1 == len(d.fields)
}

// add appends the fields of a value.
func (d *delimitedWriter) add(c *OutputColumn, v any) error {
	field := ""
	switch v := v.(type) {
	case nil:
	case int64:
		field = strconv.FormatInt(v, 10)
	case float32:
		field = formatFloat(v)
	case []float32:
		if len(v) != c.Width {
			return kindError(c, v)
		}
		for _, x := range v {
			d.fields = append(d.fields, formatFloat(x))
		}
		return nil
	default:
		var err error
		if field, err = text(c, v); err != nil {
			return err
		}
		if _, isText := v.(string); isText { // of the JSON values, only numbers can begin like a formula
			field = d.protect(field)
		}
	}
	d.fields = append(d.fields, field)
	if c.Kind == VectorColumn { // a null vector has an empty field for each number
		for range c.Width - 1 {
			d.fields = append(d.fields, "")
		}
	}
	return nil
}

// formulaStarts are the characters that begin a formula in spreadsheets, or are skipped before a
// formula, including their full-width forms.
const formulaStarts = "=+-@\t\r\n＝＋－＠"

// plainNumber matches decimal numbers, such as -5, +0.3 and -1e-7, which spreadsheets do not
// evaluate as formulas.
var plainNumber = regexp.MustCompile(`\A[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\z`)

// protect returns a text, with a leading apostrophe if the table is safe and a spreadsheet would
// evaluate the text. Numbers are unchanged.
func (d *delimitedWriter) protect(field string) string {
	first, _ := utf8.DecodeRuneInString(field)
	if d.safe && field != "" && strings.ContainsRune(formulaStarts, first) && !plainNumber.MatchString(field) {
		return "'" + field
	}
	return field
}

// Flush writes buffered rows.
func (d *delimitedWriter) Flush() error {
	d.w.Flush()
	return d.w.Error()
}

// Close writes buffered rows.
func (d *delimitedWriter) Close() error { return d.Flush() }
