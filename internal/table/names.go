package table

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Names gives names to rows without an id: file and line, as in error messages, but without the
// folders above the requested paths. Names therefore do not depend on where the files lie, unless two
// requested paths end in the same element.
type Names struct {
	files   map[string]string // requested path → name
	folders map[string]string // requested folder with a trailing separator → prefix of the names
}

// NewNames returns the names for the rows of the given files and folders. A path is named by its last
// element; if two paths have the same last element, every path is named by its whole path. A file in a
// folder is named by the folder's name and the path within the folder, or only by the latter if the
// folder is the only path.
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

// ID returns the id of a row: the value in the id column, or the result of [Names.RowName] if that value
// is empty or missing. column is the index of the id column among the values, or -1 without one. isName
// reports whether the id is a name and not a position.
func (n *Names) ID(row *Row, column int) (id Value, isName bool) {
	if column >= 0 && column < len(row.Values) {
		if v := row.Values[column]; v.Text != "" {
			return v, true
		}
	}
	return Value{Text: n.RowName(row)}, row.Name != ""
}

// RowName returns row.Name, if set. Otherwise, it returns FILE:LINE, FILE@BYTE in a part of JSON lines,
// or FILE for a row that is a whole file.
func (n *Names) RowName(row *Row) string {
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

// file returns the name of a file without the folders above the requested paths.
func (n *Names) file(path string) string {
	if short, ok := n.files[path]; ok {
		return short
	}
	inner := "" // the innermost requested folder that contains the file
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
