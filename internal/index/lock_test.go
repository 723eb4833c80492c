package index

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestLockFile checks that the lock file exists only while the index is open, that Open removes it after
// an error, and that its removal never lets two programs hold the lock concurrently.
func TestLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.arrow")
	exists := func() bool {
		_, err := os.Stat(path + ".lock")
		return err == nil
	}
	x := open(t, path)
	if !exists() {
		t.Error("an open index has no lock file")
	}
	must.Succeed(t, x.Close())
	if exists() {
		t.Error("a closed index has a lock file")
	}
	must.Succeed(t, os.WriteFile(path, []byte("text,label\na,b\n"), 0o666))
	must.Fail(t, path, "a table was opened as an index")(Open(path, Options{Model: "m", Size: size}))
	if exists() {
		t.Error("a file that is not an index has a lock file")
	}
	var holders, opened atomic.Int32
	var programs sync.WaitGroup
	for range 4 {
		programs.Go(func() {
			for range 500 {
				lock, err := lockIndex(path)
				if err != nil {
					continue // another program has the index open
				}
				if n := holders.Add(1); n > 1 {
					t.Errorf("%d programs hold the lock, want at most 1", n)
				}
				opened.Add(1)
				holders.Add(-1)
				must.Check(t, unlock(lock), "unlocking")
			}
		})
	}
	programs.Wait()
	if opened.Load() == 0 || exists() {
		t.Errorf("the lock was held %d times, want at least 1; the lock file exists: %v, want false", opened.Load(),
			exists())
	}
}
