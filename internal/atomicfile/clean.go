package atomicfile

import (
	"os"
	"path/filepath"
)

// Clean removes what killed programs left in a directory: temporary files that
// were never renamed. The caller must be the directory's only writer.
func Clean(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, ".*.tmp"))
	if err != nil {
		return err
	}
	for _, path := range left {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}
