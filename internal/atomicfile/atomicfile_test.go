package atomicfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

func writeString(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// expectOnly checks that dir contains exactly the files in want.
func expectOnly(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	for _, e := range entries {
		content := must.Get(os.ReadFile(filepath.Join(dir, e.Name())))(t)
		if w, ok := want[e.Name()]; !ok || w != string(content) {
			t.Errorf("%s contains %q, want %q (file expected: %v)", e.Name(), content, w, ok)
		}
	}
	if len(entries) != len(want) {
		t.Errorf("got %d files, want %d", len(entries), len(want))
	}
}

func TestWriteCreatesAndReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model")
	for _, content := range []string{"first", strings.Repeat("second", 100_000), ""} {
		must.Succeed(t, Write(path, writeString(content)))
		expectOnly(t, dir, map[string]string{"model": content})
	}
}

func TestPermissionsAreThoseOfANewFile(t *testing.T) {
	dir := t.TempDir()
	plain, ours := filepath.Join(dir, "plain"), filepath.Join(dir, "ours")
	f := must.Get(os.Create(plain))(t)
	f.Close()
	must.Succeed(t, Write(ours, writeString("x")))
	a, errA := os.Stat(plain)
	b, errB := os.Stat(ours)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if a.Mode() != b.Mode() {
		t.Errorf("got mode %v, want %v", b.Mode(), a.Mode())
	}
}

func TestTemporaryName(t *testing.T) {
	dir := t.TempDir()
	f := must.Get(Create(filepath.Join(dir, "model")))(t)
	defer f.Abort()
	found, err := filepath.Glob(filepath.Join(dir, ".model.*.tmp"))
	if err != nil || len(found) != 1 {
		t.Errorf("got %v, error %v, want one .model.*.tmp", found, err)
	}
}

func TestFailingCallerLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model")
	must.Succeed(t, Write(path, writeString("old")))
	mine := errors.New("mine")
	err := Write(path, func(w io.Writer) error {
		io.WriteString(w, strings.Repeat("half", 1<<16))
		return mine
	})
	if !errors.Is(err, mine) || !strings.Contains(err.Error(), path) {
		t.Errorf("got error %v, want %v with the path %s", err, mine, path)
	}
	expectOnly(t, dir, map[string]string{"model": "old"})
}

// failing is a writer that always fails, like a full disk.
type failing struct{ err error }

func (w failing) Write([]byte) (int, error) { return 0, w.err }

func TestFailingDiskLeavesTheOldFile(t *testing.T) {
	full := errors.New("no space left on device")
	for name, size := range map[string]int{"while writing": 1 << 20, "at commit": 10} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "model")
			must.Succeed(t, Write(path, writeString("old")))
			f := must.Get(Create(path))(t)
			f.buffer = bufio.NewWriterSize(failing{full}, 1<<16)
			_, errWrite := f.Write(bytes.Repeat([]byte("x"), size))
			if failedEarly := size > 1<<16; (errWrite != nil) != failedEarly {
				t.Errorf("Write returned error %v, want an error: %v", errWrite, failedEarly)
			}
			if err := f.Commit(); !errors.Is(err, full) || !strings.Contains(err.Error(), path) {
				t.Errorf("Commit returned error %v, want %v with the path %s", err, full, path)
			}
			expectOnly(t, dir, map[string]string{"model": "old"})
		})
	}
}

func TestDirectoryThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must.Succeed(t, Write(file, writeString("x")))
	for _, path := range []string{
		filepath.Join(dir, "absent", "model"),
		filepath.Join(file, "model"), // a file is not a directory
	} {
		err := Write(path, writeString("x"))
		if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), ".tmp") {
			t.Errorf("got error %v, want an error that names only %s", err, path)
		}
	}
	expectOnly(t, dir, map[string]string{"file": "x"})
}

// TestWrapNamesTheFileOnce checks that Wrap names the final file exactly once.
func TestWrapNamesTheFileOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model")
	f := must.Get(Create(path))(t)
	defer f.Abort()
	f.temp.Close()
	_, failed := f.Write(make([]byte, 1<<20))
	for _, err := range []error{failed, fmt.Errorf("row 3: %w", failed), errors.New("malformed")} {
		if wrapped := f.Wrap(err); !errors.Is(wrapped, err) || strings.Count(wrapped.Error(), path) != 1 {
			t.Errorf("got %v, want %v with the path once", wrapped, err)
		}
	}
}

// TestErrorsNameTheFile checks that errors name the final file, not the temporary file.
func TestErrorsNameTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model")
	for name, fail := range map[string]func(*File) error{
		"write":  func(f *File) error { f.temp.Close(); _, err := f.Write(make([]byte, 1<<20)); return err },
		"sync":   func(f *File) error { f.temp.Close(); return f.Commit() },
		"behind": func(f *File) error { f.temp.Close(); f.writeBehind(); return f.Sync() },
		"reopen": func(f *File) error { os.Remove(f.temp.Name()); _, err := f.Reopen(); return err },
		"rename": func(f *File) error { os.Remove(f.temp.Name()); return f.Commit() },
	} {
		f, err := Create(path)
		must.Succeed(t, err)
		err = fail(f)
		f.Abort()
		if err == nil || !strings.HasPrefix(err.Error(), path+": ") || strings.Contains(err.Error(), ".tmp") {
			t.Errorf("%s: got error %v, want an error that names %s", name, err, path)
		}
	}
	expectOnly(t, filepath.Dir(path), nil)
}

func TestRefusesIrregularFiles(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, os.DevNull} {
		must.Fail(t, path)(Write(path, writeString("x")))
	}
	expectOnly(t, dir, nil)
}

func TestFollowsSymbolicLink(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	must.Succeed(t, Write(filepath.Join(dir, "model"), writeString("old")))
	must.Succeed(t, os.Symlink("model", link))
	must.Succeed(t, Write(link, writeString("new")))
	expectOnly(t, dir, map[string]string{"model": "new", "link": "new"})
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the symbolic link was replaced: %v, error %v", info, err)
	}
}

func TestAfterCommitAndAbort(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model")
	for _, commit := range []bool{true, false} {
		f := must.Get(Create(path))(t)
		io.WriteString(f, "x")
		if commit {
			must.Succeed(t, f.Commit())
		}
		f.Abort()
		f.Abort()
		must.FailWith(t, fs.ErrClosed, "Write")(f.Write([]byte("y")))
		must.FailWith(t, fs.ErrClosed, "Commit")(f.Commit())
		expectOnly(t, dir, map[string]string{"model": "x"})
	}
}

// TestCommitNew checks that CommitNew keeps the first of several concurrently written files.
func TestCommitNew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	var files []*File
	for _, text := range []string{"first", "second", "third"} {
		f := must.Get(Create(path))(t)
		io.WriteString(f, text)
		files = append(files, f)
	}
	must.Succeed(t, files[0].CommitNew())
	os.Remove(files[2].Temporary()) // without locks, another program may remove it
	for _, f := range files[1:] {
		if err := f.CommitNew(); !errors.Is(err, fs.ErrExist) || !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("got error %v, want fs.ErrExist", err)
		}
	}
	expectOnly(t, dir, map[string]string{"x": "first"})
}

// TestRenameNew checks that a directory, which cannot have hard links, is renamed unless the new name
// exists.
func TestRenameNew(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	for _, want := range []error{nil, fs.ErrExist} {
		must.Succeed(t, os.Mkdir(from, 0o777))
		must.FailWith(t, want)(renameNew(from, to))
	}
	if info, err := os.Stat(to); err != nil || !info.IsDir() {
		t.Errorf("got %v, error %v, want a directory", info, err)
	}
}

// TestWriteBehind checks that Reopen reads all written bytes, and that Commit keeps the
// reopened content, while background syncs run.
func TestWriteBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	f := must.Get(Create(path))(t)
	defer f.Abort()
	piece := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	const pieces = 3 * syncBytes / (1 << 20)
	for range pieces {
		must.Get(f.Write(piece))(t)
	}
	must.Get(f.Write([]byte("end")))(t)
	again := must.Get(f.Reopen())(t)
	defer again.Close()
	content, err := io.ReadAll(again)
	if err != nil || len(content) != pieces*len(piece)+3 {
		t.Errorf("Reopen: got %d bytes, error %v, want %d bytes", len(content), err, pieces*len(piece)+3)
	}
	must.Succeed(t, f.Commit())
	if whole, err := os.ReadFile(path); err != nil || !bytes.Equal(whole, content) {
		t.Errorf("after Commit: got %d bytes, error %v, want the %d bytes of Reopen", len(whole), err, len(content))
	}
}

// TestLateSyncError checks that Write and Commit return the error of a background Sync.
func TestLateSyncError(t *testing.T) {
	dir := t.TempDir()
	f := must.Get(Create(filepath.Join(dir, "x")))(t)
	f.writeBehind()
	f.waitSync()
	f.synced(errors.New("the disk is gone"))
	f.writeBehind() // a later success does not clear the error
	must.Fail(t, "the disk is gone")(f.Write([]byte("x")))
	must.Fail(t, "the disk is gone")(f.Commit())
	if remaining, _ := os.ReadDir(dir); len(remaining) != 0 {
		t.Errorf("got files %v, want none", remaining)
	}
}
