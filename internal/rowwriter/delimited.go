package rowwriter

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
)

// delimited writes fields between commas or tabs, the first row being the names. A vector
// has a column for each of its numbers, NAME_0 and on.
type delimited struct {
	w       *csv.Writer
	columns []Column
	fields  []string // of a row
}

func newDelimited(w io.Writer, comma rune, columns []Column) (*delimited, error) {
	d := &delimited{w: csv.NewWriter(w), columns: columns}
	d.w.Comma = comma
	for _, c := range columns {
		switch c.Kind {
		case Object:
			return nil, fmt.Errorf("column %s: only JSON lines can hold it", c.Name)
		case List:
			return nil, fmt.Errorf("column %s: a row of text has no place for a list of any length", c.Name)
		case Vector:
			for i := range c.Width {
				d.fields = append(d.fields, fmt.Sprintf("%s_%d", c.Name, i))
			}
		default:
			d.fields = append(d.fields, c.Name)
		}
	}
	return d, d.w.Write(d.fields)
}

// Write writes a row.
func (d *delimited) Write(row []any) error {
	d.fields = d.fields[:0]
	for i := range d.columns {
		if err := d.add(&d.columns[i], row[i]); err != nil {
			return err
		}
	}
	return d.w.Write(d.fields)
}

func (d *delimited) add(c *Column, v any) error {
	field := ""
	switch v := v.(type) {
	case nil:
	case int64:
		field = strconv.FormatInt(v, 10)
	case float32:
		field = number(v)
	case []float32:
		if len(v) != c.Width {
			return kindError(c, v)
		}
		for _, x := range v {
			d.fields = append(d.fields, number(x))
		}
		return nil
	default:
		var err error
		if field, err = text(c, v); err != nil {
			return err
		}
	}
	d.fields = append(d.fields, field)
	if c.Kind == Vector { // of which there is none
		for range c.Width - 1 {
			d.fields = append(d.fields, "")
		}
	}
	return nil
}

// Flush writes what is held back.
func (d *delimited) Flush() error {
	d.w.Flush()
	return d.w.Error()
}

// Close is Flush.
func (d *delimited) Close() error { return d.Flush() }
