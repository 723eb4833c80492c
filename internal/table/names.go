package table

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Names are what rows are called that have no id of their own: as errors name their
// places, but without the folders above what was asked for, so that the same files have the
// same names wherever they lie.
type Names struct {
	files   map[string]string // asked for, and what they are called
	folders map[string]string // asked for, with a separator behind, and what is put in their place
}

// NewNames are those of the rows of files and folders, which are called by their last part;
// by their whole path where two have the same. What is in the only folder is called by its
// path within it.
func NewNames(paths []string) *Names {
	n := &Names{files: map[string]string{}, folders: map[string]string{}}
	within := func(folder string) string { return strings.TrimSuffix(filepath.Join(folder, "x"), "x") }
	bases := map[string]bool{}
	for _, path := range paths {
		bases[filepath.Base(path)] = true
	}
	for _, path := range paths {
		short := filepath.Base(path)
		if len(bases) < len(paths) {
			short = path
		}
		info, err := os.Stat(path)
		switch {
		case path == StandardInput || err != nil || !info.IsDir():
			n.files[path] = short
		case len(paths) == 1:
			n.folders[within(path)] = ""
		default:
			n.folders[within(path)] = short + "/"
		}
	}
	return n
}

// ID is what a row is called: the text that it has in a column, of which at is the place
// among its values (-1 without one), otherwise what [Names.Of] says. Own reports whether
// that is a name, not a place.
func (n *Names) ID(row *Row, at int) (id Value, own bool) {
	if at >= 0 && at < len(row.Values) {
		if v := row.Values[at]; v.Text != "" {
			return v, true
		}
	}
	return Value{Text: n.Of(row)}, row.Name != ""
}

// Of is the name of a row: the record's own, or its file and line, or byte.
func (n *Names) Of(row *Row) string {
	if row.Name != "" {
		return row.Name
	}
	name := n.file(row.File)
	switch {
	case row.Line > 0:
		name += ":" + strconv.FormatInt(row.Line, 10)
	case row.Byte > 0:
		name += "@" + strconv.FormatInt(row.Byte, 10)
	}
	return strings.ToValidUTF8(name, "\uFFFD")
}

func (n *Names) file(path string) string {
	if short, ok := n.files[path]; ok {
		return short
	}
	inner := "" // folder inside others
	for folder := range n.folders {
		if strings.HasPrefix(path, folder) && len(folder) >= len(inner) {
			inner = folder
		}
	}
	if short, ok := n.folders[inner]; ok {
		return short + filepath.ToSlash(strings.TrimPrefix(path, inner))
	}
	return path
}
