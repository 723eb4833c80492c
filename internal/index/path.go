package index

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// realPath is where links lead to, also to a file that is not there yet: who opens
// one index by several names must find one lock.
func realPath(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	link, err := os.Readlink(path)
	switch {
	case err != nil:
		return filepath.Join(dir, filepath.Base(path)), nil
	case filepath.IsAbs(link):
		return realPath(link)
	}
	return realPath(filepath.Join(dir, link))
}
