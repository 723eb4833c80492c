package index

import (
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFullDisk: a group that there is no room for is taken back, so that the next start
// needs none: it opens what was acknowledged.
func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.arrow")
	x := open(t, path)
	if err := x.Add(itemOf(1))(); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	full := limit
	full.Cur = uint64(x.Size()) + 100 // a part of the group can be written
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
		t.Fatal(err)
	}
	err := x.Add(itemOf(2))()
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if err == nil || !strings.Contains(err.Error(), "file too large") {
		t.Fatalf("error %v", err)
	}
	x.Close()
	x = open(t, path)
	expect(t, x, map[string]Item{"1": itemOf(1)})
	if n, kept := x.Dropped(); n != 0 || kept != "" {
		t.Errorf("%d bytes dropped, kept in %q", n, kept)
	}
	if _, err := os.Stat(path + ".dropped-1"); err == nil {
		t.Error("a part of a group was kept")
	}
}
