package table

import (
	"strings"

	"github.com/sftseq/sftseq/internal/source"
)

// MoleculeColumns are those of SMILES files: a molecule, and what the rest of its line calls it.
var MoleculeColumns = []string{"smiles", "name"}

// smilesReader reads SMILES files: in each line that is not empty a molecule, and behind white space
// its name, which may be missing.
type smilesReader struct{ lineReader }

func newSMILES(in *source.Source, o Options) (*smilesReader, error) {
	lines, err := newLineReader(in, o, MoleculeColumns)
	return &smilesReader{lines}, err
}

// Next returns the next line.
func (r *smilesReader) Next(row *Row) error {
	line, bad, err := r.begin(row, strings.TrimSpace)
	if err != nil {
		return err
	}
	if bad != nil {
		row.fail(bad)
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
