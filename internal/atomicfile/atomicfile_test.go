package atomicfile

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writeString(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// expectOnly fails unless dir holds exactly the files of want.
func expectOnly(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if w, ok := want[e.Name()]; !ok || w != string(content) {
			t.Errorf("%s holds %q, want %q (expected: %v)", e.Name(), content, w, ok)
		}
	}
	if len(entries) != len(want) {
		t.Errorf("%d files, want %d", len(entries), len(want))
	}
}

func TestWriteCreatesAndReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model")
	for _, content := range []string{"first", strings.Repeat("second", 100_000), ""} {
		if err := Write(path, writeString(content)); err != nil {
			t.Fatal(err)
		}
		expectOnly(t, dir, map[string]string{"model": content})
	}
}

func TestPermissionsAreThoseOfANewFile(t *testing.T) {
	dir := t.TempDir()
	plain, ours := filepath.Join(dir, "plain"), filepath.Join(dir, "ours")
	f, err := os.Create(plain)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := Write(ours, writeString("x")); err != nil {
		t.Fatal(err)
	}
	a, errA := os.Stat(plain)
	b, errB := os.Stat(ours)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if a.Mode() != b.Mode() {
		t.Errorf("mode %v, want %v", b.Mode(), a.Mode())
	}
}

func TestTemporaryName(t *testing.T) {
	dir := t.TempDir()
	f, err := Create(filepath.Join(dir, "model"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Abort()
	found, err := filepath.Glob(filepath.Join(dir, ".model.*.tmp"))
	if err != nil || len(found) != 1 {
		t.Errorf("found %v, %v, want one .model.*.tmp", found, err)
	}
}

func TestFailingCallerLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model")
	if err := Write(path, writeString("old")); err != nil {
		t.Fatal(err)
	}
	mine := errors.New("mine")
	err := Write(path, func(w io.Writer) error {
		io.WriteString(w, strings.Repeat("half", 1<<16))
		return mine
	})
	if !errors.Is(err, mine) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want %v naming %s", err, mine, path)
	}
	expectOnly(t, dir, map[string]string{"model": "old"})
}

// failing stands for a full disk: the first write that reaches it fails.
type failing struct{ err error }

func (w failing) Write([]byte) (int, error) { return 0, w.err }

func TestFailingDiskLeavesTheOldFile(t *testing.T) {
	full := errors.New("no space left on device")
	for name, size := range map[string]int{"while writing": 1 << 20, "at commit": 10} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "model")
			if err := Write(path, writeString("old")); err != nil {
				t.Fatal(err)
			}
			f, err := Create(path)
			if err != nil {
				t.Fatal(err)
			}
			f.buffer = bufio.NewWriterSize(failing{full}, 1<<16)
			_, errWrite := f.Write(bytes.Repeat([]byte("x"), size))
			if failedEarly := size > 1<<16; (errWrite != nil) != failedEarly {
				t.Errorf("Write: %v", errWrite)
			}
			if err := f.Commit(); !errors.Is(err, full) || !strings.Contains(err.Error(), path) {
				t.Errorf("Commit: %v, want %v naming %s", err, full, path)
			}
			expectOnly(t, dir, map[string]string{"model": "old"})
		})
	}
}

func TestDirectoryThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := Write(file, writeString("x")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		filepath.Join(dir, "absent", "model"),
		filepath.Join(file, "model"), // a file is not a directory
	} {
		err := Write(path, writeString("x"))
		if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), ".tmp") {
			t.Errorf("error %v, want one naming %s and no other file", err, path)
		}
	}
	expectOnly(t, dir, map[string]string{"file": "x"})
}

// TestErrorsNameTheFile that was asked for, not the temporary one, whatever fails.
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
		if err != nil {
			t.Fatal(err)
		}
		err = fail(f)
		f.Abort()
		if err == nil || !strings.HasPrefix(err.Error(), path+": ") || strings.Contains(err.Error(), ".tmp") {
			t.Errorf("%s: error %v, want one of %s", name, err, path)
		}
	}
	expectOnly(t, filepath.Dir(path), nil)
}

func TestRefusesWhatIsNoRegularFile(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, os.DevNull} {
		if err := Write(path, writeString("x")); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("error %v, want one naming %s", err, path)
		}
	}
	expectOnly(t, dir, nil)
}

func TestFollowsSymbolicLink(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := Write(filepath.Join(dir, "model"), writeString("old")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("model", link); err != nil {
		t.Fatal(err)
	}
	if err := Write(link, writeString("new")); err != nil {
		t.Fatal(err)
	}
	expectOnly(t, dir, map[string]string{"model": "new", "link": "new"})
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
}

func TestAfterTheEnd(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model")
	for _, commit := range []bool{true, false} {
		f, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, "x")
		if commit {
			if err := f.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		f.Abort()
		f.Abort()
		if _, err := f.Write([]byte("y")); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("Write: %v, want %v", err, fs.ErrClosed)
		}
		if err := f.Commit(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("Commit: %v, want %v", err, fs.ErrClosed)
		}
		expectOnly(t, dir, map[string]string{"model": "x"})
	}
}

// TestCommitNew: of two that are written at a time the first is there, and stays.
func TestCommitNew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	var files []*File
	for _, text := range []string{"first", "second", "third"} {
		f, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, text)
		files = append(files, f)
	}
	if err := files[0].CommitNew(); err != nil {
		t.Fatal(err)
	}
	os.Remove(files[2].Temporary()) // by another program: the first is there all the same
	for _, f := range files[1:] {
		if err := f.CommitNew(); !errors.Is(err, fs.ErrExist) || !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("error %v", err)
		}
	}
	expectOnly(t, dir, map[string]string{"x": "first"})
}

// TestRenameNew: what has no hard links, such as a directory, is renamed.
func TestRenameNew(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	for _, want := range []error{nil, fs.ErrExist} {
		if err := os.Mkdir(from, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := renameNew(from, to); !errors.Is(err, want) {
			t.Errorf("%v, expected %v", err, want)
		}
	}
	if info, err := os.Stat(to); err != nil || !info.IsDir() {
		t.Error(err)
	}
}

// TestWriteBehind: what the disk begins to write early is the same file; Reopen reads
// what is there so far.
func TestWriteBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Abort()
	piece := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	const pieces = 3 * syncBytes / (1 << 20)
	for range pieces {
		if _, err := f.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Write([]byte("end")); err != nil {
		t.Fatal(err)
	}
	again, err := f.Reopen()
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	sofar, err := io.ReadAll(again)
	if err != nil || len(sofar) != pieces*len(piece)+3 {
		t.Errorf("%d bytes so far, %v", len(sofar), err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if whole, err := os.ReadFile(path); err != nil || !bytes.Equal(whole, sofar) {
		t.Errorf("%d bytes, %v", len(whole), err)
	}
}

// TestLateSyncError: what a Sync in the background finds is an error of Commit.
func TestLateSyncError(t *testing.T) {
	dir := t.TempDir()
	f, err := Create(filepath.Join(dir, "x"))
	if err != nil {
		t.Fatal(err)
	}
	f.writeBehind()
	f.settle()
	f.synced(errors.New("the disk is gone"))
	f.writeBehind() // one that succeeds does not make it good
	if _, err := f.Write([]byte("x")); err == nil || !strings.Contains(err.Error(), "the disk is gone") {
		t.Errorf("error %v", err)
	}
	if err := f.Commit(); err == nil || !strings.Contains(err.Error(), "the disk is gone") {
		t.Errorf("error %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}
