package table

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"sftseq/internal/source"
)

// delimited is a table of fields between signs, whose first row names the columns.
type delimited struct {
	in      *source.Source
	window  *window
	limit   int // bytes of a row
	columns []string
	wanted  []int
}

// maxColumns is more than a table has that is one.
const maxColumns = 1 << 16

// errNoHeader is for a table without rows.
var errNoHeader = errors.New("expected a row with the names of the columns, found an empty file")

func newDelimited(in *source.Source, o Options) delimited {
	return delimited{in: in, window: newWindow(in), limit: o.MaxField}
}

// nameColumns takes the first row: its fields, of which there may be more than were kept.
func (d *delimited) nameColumns(fields []string, count int, wanted []string) (err error) {
	if count > maxColumns {
		return fmt.Errorf("expected a row with the names of at most %d columns, found %d", maxColumns, count)
	}
	for _, name := range fields {
		d.columns = append(d.columns, strings.Clone(name))
	}
	d.wanted, err = index(d.columns, wanted)
	return err
}

// Columns returns what the first row says.
func (d *delimited) Columns() []string { return d.columns }

// take makes a row of its fields, of which there may be more than were kept.
func (d *delimited) take(row *Row, fields []string, count int) {
	if count != len(d.columns) {
		row.fail(fmt.Errorf("expected %d columns, found %d", len(d.columns), count))
		return
	}
	for _, at := range d.wanted {
		v := Value{Text: fields[at]}
		if !utf8.ValidString(v.Text) {
			row.lacks(&v, fmt.Errorf("column %s: not UTF-8", d.columns[at]))
		}
		row.Values = append(row.Values, v)
	}
}

// Close closes the file.
func (d *delimited) Close() error { return d.in.Close() }
