package atomicfile

import (
	"errors"
	"io/fs"
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
	return clean(filepath.Dir(path), func(name string) bool { return name == filepath.Base(path) },
		func(fs.DirEntry) bool { return true })
}

// CleanAll removes what killed programs left of all files in a directory whose names
// have an ending, but for some. The caller must be the only one to write them.
func CleanAll(dir, ending string, but ...string) error {
	return clean(dir, func(name string) bool { return strings.HasSuffix(name, ending) },
		func(e fs.DirEntry) bool { return !slices.Contains(but, e.Name()) })
}

// cleanDead removes the temporary files of path that no process has locked: those of killed
// programs. Errors do not matter: what stays is in nobody's way.
func cleanDead(path string) {
	dir, base := filepath.Split(path)
	_ = clean(filepath.Clean(dir), func(name string) bool { return name == base }, func(e fs.DirEntry) bool {
		if !e.Type().IsRegular() {
			return false
		}
		name := filepath.Join(dir, e.Name())
		file, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return false
		}
		defer file.Close()
		return tryLock(file) && os.Remove(name) == nil // while nobody else can lock it
	})
}

// clean removes the temporary files of those that are meant, which may be gone already.
func clean(dir string, meant func(name string) bool, removed func(fs.DirEntry) bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := TemporaryOf(e.Name()); name != "" && meant(name) && removed(e) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// TemporaryOf returns the name of the file that a temporary file is written for, or "" for any other file.
func TemporaryOf(temporary string) (name string) {
	rest, hidden := strings.CutPrefix(temporary, ".")
	rest, ended := strings.CutSuffix(rest, ".tmp")
	rest = strings.TrimSuffix(rest, ".tmp") // the second name that Link gives
	dot := strings.LastIndexByte(rest, '.') // what follows was drawn, and has none
	if !hidden || !ended || dot < 0 {
		return ""
	}
	return rest[:dot]
}
