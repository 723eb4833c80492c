package index

import (
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestFullDisk checks that a group is undone if the disk is full. The next start then opens all
// acknowledged items and drops no bytes.
func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.arrow")
	x := open(t, path)
	must.Succeed(t, x.Add(itemOf(1))())
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	must.Succeed(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	full := limit
	full.Cur = uint64(x.Size()) + 100 // room for a part of the group
	must.Succeed(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full))
	err := x.Add(itemOf(2))()
	must.Succeed(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	if err == nil || !strings.Contains(err.Error(), "file too large") {
		t.Fatalf("got error %v, want file too large", err)
	}
	x.Close()
	x = open(t, path)
	expect(t, x, map[string]Item{"1": itemOf(1)})
	if n, kept := x.Dropped(); n != 0 || kept != "" {
		t.Errorf("got %d dropped bytes in %q, want none", n, kept)
	}
	must.Fail(t, "", "a part of a group was kept")(os.Stat(path + ".dropped-1"))
}
