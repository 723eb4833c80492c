package index

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestLinks checks that an index that is open under one name cannot be opened under another, and that
// rewriting the file keeps symbolic links.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	must.Succeed(t, os.MkdirAll(filepath.Join(dir, "far", "away"), 0o777))
	path := filepath.Join(dir, "far", "away", "x.arrow")
	names := []string{path}
	for name, to := range map[string]string{"absolute": path, "relative": filepath.Join("far", "away", "x.arrow"),
		"chain": "relative", "folder": filepath.Join("far", "away")} {
		must.Succeed(t, os.Symlink(to, filepath.Join(dir, name)))
		names = append(names, filepath.Join(dir, name))
	}
	for n, name := range names {
		if strings.HasSuffix(name, "folder") {
			names[n] = filepath.Join(name, "x.arrow")
		}
	}
	for _, there := range []bool{false, true} { // whether the file exists when it is first opened
		for _, name := range names {
			if !there {
				os.Remove(path)
			}
			x := open(t, name)
			for _, other := range names {
				must.Fail(t, "another program", other, "while", name,
					"is open")(Open(other, Options{Model: "m", Size: size}))
			}
			var wait func() error
			for range compactFrom + 10 {
				wait = x.Add(itemOf(1))
			}
			must.Succeed(t, wait())
			x.Close()
			if info, err := os.Stat(path); err != nil || info.Size() > 2000*size*4 {
				t.Errorf("%s: got file %+v, error %v, want a rewritten file of at most %d bytes", name, info, err,
					2000*size*4)
			}
			if x := open(t, path); x.Len() != 1 {
				t.Errorf("%s: got %d items, want 1", name, x.Len())
			} else {
				x.Close()
			}
		}
	}
	for _, name := range []string{"absolute", "relative", "chain", "folder"} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is not a symbolic link after the file was rewritten; error %v", name, err)
		}
	}
	must.Succeed(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	must.Fail(t, "", "a link to itself was opened")(Open(filepath.Join(dir, "loop"), Options{Model: "m", Size: size}))
}

// TestFailed checks that a disk error is reported once and returned by every later change.
func TestFailed(t *testing.T) {
	var reported []error
	x, err := Open(filepath.Join(t.TempDir(), "x.arrow"),
		Options{Model: "m", Size: size, Failed: func(err error) { reported = append(reported, err) }})
	must.Succeed(t, err)
	if err := x.Add(itemOf(1))(); err != nil || x.Failure() != nil {
		t.Fatalf("got error %v, failure %v, want none", err, x.Failure())
	}
	x.file.Close() // simulates a disk error
	for range 3 {
		wait := x.Add(itemOf(2))
		for range 2 { // repeated calls return the same error
			if err := wait(); !errors.Is(err, os.ErrClosed) || !strings.Contains(err.Error(), "until a restart") {
				t.Errorf("got error %v, want os.ErrClosed with a hint to restart", err)
			}
		}
	}
	must.FailWith(t, os.ErrClosed)(x.Remove([]string{"1"}))
	x.Close()
	if len(reported) != 1 || reported[0] != x.Failure() {
		t.Errorf("got reports %v, want one", reported)
	}
}
