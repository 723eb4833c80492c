package table

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/sftseq/sftseq/internal/source"
)

// MoleculeColumns are those of SMILES files: a molecule, and what the rest of its line calls it.
var MoleculeColumns = []string{"smiles", "name"}

// smilesReader reads SMILES files: in each line that is not empty a molecule, and behind white space
// its name, which may be missing.
type smilesReader struct {
	in     *source.Source
	window *window
	limit  int // bytes of a line
	wanted []int
	line   int64
}

func newSMILES(in *source.Source, o Options) (*smilesReader, error) {
	wanted, err := index(MoleculeColumns, o.Columns)
	return &smilesReader{in: in, window: newWindow(in), limit: o.MaxField, wanted: wanted}, err
}

// Columns returns [MoleculeColumns].
func (r *smilesReader) Columns() []string { return MoleculeColumns }

// Next returns the next line.
func (r *smilesReader) Next(row *Row) error {
	line, long := "", false
	for line == "" && !long {
		if r.window.text == "" && r.window.last() {
			return io.EOF
		}
		var err error
		if line, long, err = r.window.line(r.limit); err != nil {
			return fmt.Errorf("%s: behind line %d: %w", r.in.Name, r.line, err)
		}
		line = strings.TrimSpace(line)
		r.line++
	}
	row.begin(r.in.Name, r.line)
	row.whole = len(line)
	switch {
	case long:
		row.fail(fmt.Errorf("the line has more than %d bytes", r.limit))
		return nil
	case !utf8.ValidString(line):
		row.fail(errors.New("not UTF-8"))
		return nil
	}
	molecule, name := line, ""
	if at := strings.IndexAny(line, " \t"); at >= 0 {
		molecule, name = line[:at], strings.TrimSpace(line[at:])
	}
	row.Name = name
	for _, at := range r.wanted {
		v := Value{Text: molecule}
		if MoleculeColumns[at] == "name" {
			v = Value{Text: name, Null: name == ""}
		}
		row.Values = append(row.Values, v)
	}
	return nil
}

// Close closes the file.
func (r *smilesReader) Close() error { return r.in.Close() }
