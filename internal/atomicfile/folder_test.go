package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestMakeFolder checks that a folder is created with its parents, and that an error names the file that
// prevents the creation.
func TestMakeFolder(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b")
	must.Succeed(t, MakeFolder(deep))
	must.Succeed(t, MakeFolderOf(filepath.Join(deep, "c", "file")))
	if info, err := os.Stat(filepath.Join(deep, "c")); err != nil || !info.IsDir() {
		t.Errorf("got %v, %v; want a folder", info, err)
	}
	file := filepath.Join(dir, "file")
	must.Succeed(t, os.WriteFile(file, nil, 0o666))
	below := filepath.Join(file, "x", "y")
	for path, want := range map[string]string{
		file:  file + ": expected a folder, found a regular file",
		below: below + ": creating the folder: " + file + " is a regular file: expected a folder",
	} {
		err := MakeFolder(path)
		if err == nil || err.Error() != want || !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := MakeFolderOf(filepath.Join(file, "x")); err == nil ||
		err.Error() != filepath.Join(file, "x")+": "+file+": expected a folder, found a regular file" {
		t.Errorf("got %v, want an error that begins with both paths", err)
	}
	const unwritable = "/proc/sftseq/x" // also for root
	if info, err := os.Stat("/proc"); err != nil || !info.IsDir() {
		return
	}
	err := MakeFolder(unwritable)
	if err == nil || err.Error() != unwritable+": cannot create the folder: no such file or directory" ||
		!errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want an error that names %s and wraps fs.ErrNotExist", err, unwritable)
	}
}
