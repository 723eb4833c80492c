package lra

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// errMissing means that a directory lacks an official file.
var errMissing = errors.New("is missing")

// findOfficial returns the path of an official file in a directory, plain or compressed.
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
	return "", fmt.Errorf("%s: %s %w (or %s.gz, or %s.zst)", dir, name, errMissing, name, name)
}

// officialName returns a file's name without the suffix of its compression.
func officialName(path string) string {
	name := filepath.Base(path)
	return strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
}

// findAll returns the paths of several official files.
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

// sizeOf returns the total size of files in bytes, for progress reports.
func sizeOf(paths ...string) (bytes int64) {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
	}
	return bytes
}

// isDir reports whether a path is a directory. It fails if the path does not exist.
func isDir(path string) (bool, error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	return info.IsDir(), nil
}
