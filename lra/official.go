package lra

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// findOfficial is the path of an official file in a directory, plain or compressed.
func findOfficial(dir, name string) (string, error) {
	for _, ending := range []string{"", ".gz", ".zst"} {
		path := filepath.Join(dir, name+ending)
		_, err := os.Stat(path)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("%s: %s is missing (or %s.gz, or %s.zst)", dir, name, name, name)
}

// officialName is a file's name without what says how it is compressed.
func officialName(path string) string {
	name := filepath.Base(path)
	return strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
}

// findAll are the paths of several.
func findAll(dir string, names ...string) (paths []string, err error) {
	for _, name := range names {
		path, err := findOfficial(dir, name)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// sizeOf is what there is to read of files, for the progress.
func sizeOf(paths ...string) (bytes int64) {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
	}
	return bytes
}

// isDir reports whether a path is a directory; an error says that nothing is there.
func isDir(path string) (bool, error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	return info.IsDir(), nil
}
