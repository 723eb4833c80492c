package atomicfile

import (
	"fmt"
	"os"
	"path/filepath"
)

// MakeFolder creates a folder and its missing parents. Its error wraps the error of [os.MkdirAll] and
// names the folder and, if a file prevents the creation, that file.
func MakeFolder(dir string) error {
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		return nil
	}
	existing := filepath.Clean(dir)
	info, statErr := os.Stat(existing)
	for statErr != nil && filepath.Dir(existing) != existing {
		existing = filepath.Dir(existing)
		info, statErr = os.Stat(existing)
	}
	switch {
	case statErr != nil || info.IsDir():
		return &cause{err, fmt.Sprintf("%s: cannot create the folder: %v", dir, Cause(err))}
	case existing == filepath.Clean(dir):
		return &cause{err, fmt.Sprintf("%s: expected a folder, found %s", dir, Kind(info.Mode()))}
	}
	return &cause{err, fmt.Sprintf("%s: creating the folder: %s is %s: expected a folder", dir, existing,
		Kind(info.Mode()))}
}

// MakeFolderOf creates the folder of a file, as [MakeFolder] does. Its error begins with the path of the file.
func MakeFolderOf(path string) error {
	if err := MakeFolder(filepath.Dir(path)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
