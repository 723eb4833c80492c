package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Clean removes leftovers of killed programs: temporary files for path that were never renamed. No
// other program may be writing the file.
func Clean(path string) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return clean(filepath.Dir(path), func(name string) bool { return name == filepath.Base(path) },
		func(fs.DirEntry) bool { return true })
}

// CleanAll removes leftovers of killed programs for all files in a directory whose names end in
// suffix, except the temporary files named in keep. No other program may be writing these files.
func CleanAll(dir, suffix string, keep ...string) error {
	return clean(dir, func(name string) bool { return strings.HasSuffix(name, suffix) },
		func(e fs.DirEntry) bool { return !slices.Contains(keep, e.Name()) })
}

// cleanDead removes the temporary files for path that no process has locked, the leftovers of
// killed programs. It ignores errors, because leftovers do no harm.
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
		return tryLock(file) && os.Remove(name) == nil // remove it while this process holds the lock
	})
}

// clean removes the selected temporary files. Another process may already have removed them.
func clean(dir string, selectName func(name string) bool, selectEntry func(fs.DirEntry) bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := TemporaryOf(e.Name()); name != "" && selectName(name) && selectEntry(e) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// TemporaryOf returns the final name of a temporary file, or "" for any other file.
func TemporaryOf(temporary string) (name string) {
	rest, hidden := strings.CutPrefix(temporary, ".")
	rest, ended := strings.CutSuffix(rest, ".tmp")
	rest = strings.TrimSuffix(rest, ".tmp") // the second suffix of Link
	dot := strings.LastIndexByte(rest, '.') // the random part after it has no dot
	if !hidden || !ended || dot < 0 {
		return ""
	}
	return rest[:dot]
}
