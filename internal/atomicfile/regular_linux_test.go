package atomicfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestRegularRefuses checks that a FIFO, a directory and a device are refused without waiting.
func TestRegularRefuses(t *testing.T) {
	dir := t.TempDir()
	fifo, link := filepath.Join(dir, "fifo"), filepath.Join(dir, "link")
	must.Succeed(t, syscall.Mkfifo(fifo, 0o666))
	must.Succeed(t, os.Symlink("fifo", link))
	for _, path := range []string{fifo, link, dir, os.DevNull} {
		must.Fail(t, path+": expected a regular file, found ")(OpenRegular(path))
		must.Fail(t, path+": expected a regular file, found ")(ReadRegular(path, 10))
	}
	must.FailWith(t, fs.ErrNotExist)(OpenRegular(filepath.Join(dir, "absent")))
}

func TestReadRegular(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	must.Succeed(t, os.WriteFile(path, []byte("12345"), 0o666))
	if text := must.Get(ReadRegular(path, 5))(t); string(text) != "12345" {
		t.Errorf("got %q, want 12345", text)
	}
	must.Fail(t, path+": expected at most 4 bytes, found more")(ReadRegular(path, 4))
}
