package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
)

// Clean removes what killed programs left of a file: temporary files that were
// never renamed to it. The caller must be the only one to write it.
func Clean(path string) error {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		middle, ours := strings.CutPrefix(e.Name(), "."+base+".")
		middle, temporary := strings.CutSuffix(middle, ".tmp")
		if ours && temporary && !strings.Contains(middle, ".") { // a dot would be of another, longer name
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
