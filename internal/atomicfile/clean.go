package atomicfile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Clean removes what killed programs left of a file: temporary files that were
// never renamed to it. The caller must be the only one to write it.
func Clean(path string) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return clean(filepath.Dir(path), func(name string) bool { return name == filepath.Base(path) })
}

// CleanAll removes what killed programs left of all files in a directory whose names
// have an ending, but for some. The caller must be the only one to write them.
func CleanAll(dir, ending string, but ...string) error {
	return clean(dir, func(name string) bool { return strings.HasSuffix(name, ending) }, but...)
}

// clean removes the temporary files of those that are meant.
func clean(dir string, meant func(name string) bool, but ...string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		rest, hidden := strings.CutPrefix(e.Name(), ".")
		rest, temporary := strings.CutSuffix(rest, ".tmp")
		dot := strings.LastIndexByte(rest, '.') // what follows was drawn, and has none
		if hidden && temporary && dot >= 0 && meant(rest[:dot]) && !slices.Contains(but, e.Name()) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
