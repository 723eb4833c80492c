package index

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// realPath resolves symbolic links, including links to a missing file. An index that is opened
// under several names must have one lock.
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
