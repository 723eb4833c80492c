package seq

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// names are the files of a directory.
func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// TestReplace: the data set that is there stays complete until Finish, whatever is closed
// by then, and is what it was where its successor is given up.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	before := buildDataset(t, dir)
	whole := []string{"dataset.json", "test.arrow", "train.arrow", "val.arrow"}
	for _, finish := range []bool{false, true} {
		b := must.Get(CreateDataset(dir, listopsSpec(), true))(t)
		for _, split := range []string{"train", "val"} {
			writeSplit(t, b, split, []Example{{A: make7()}})
			if d, err := OpenDataset(dir); err != nil || d.Fingerprint() != before.Fingerprint() || d.Verify() != nil {
				t.Errorf("%s is closed: %v", split, err)
			}
		}
		if !finish {
			b.Abort()
			if d, err := OpenDataset(dir); err != nil || d.Verify() != nil || !slices.Equal(names(t, dir), whole) {
				t.Errorf("given up: %v, %q", err, names(t, dir))
			}
			continue
		}
		d, err := b.Finish(nil)
		if err != nil || d.Verify() != nil || d.Manifest.Splits["train"].Rows != 1 {
			t.Fatalf("finished: %v", err)
		}
		if got := names(t, dir); !slices.Equal(got, []string{"dataset.json", "train.arrow", "val.arrow"}) {
			t.Errorf("%q are left", got)
		}
	}
}

// TestReplaceStaged: a program that was killed while it exchanged data sets leaves the new
// one under temporary names. It is complete, and the next one replaces it as any other.
func TestReplaceStaged(t *testing.T) {
	dir := t.TempDir()
	buildDataset(t, dir)
	b := must.Get(CreateDataset(dir, listopsSpec(), true))(t)
	writeSplit(t, b, "train", []Example{{A: make7()}})
	staged, info := b.manifest, b.closed[0].info
	info.File = filepath.Base(b.closed[0].writer.file.Temporary())
	staged.Splits = map[string]SplitInfo{"train": info}
	must.Succeed(t, b.write(&staged))
	b.lock.release() // as the end of the process does
	if d, err := OpenDataset(dir); err != nil || d.Verify() != nil || d.Manifest.Splits["train"].Rows != 1 {
		t.Fatalf("%v", err)
	}
	next := must.Get(CreateDataset(dir, listopsSpec(), true))(t)
	if d, err := OpenDataset(dir); err != nil || d.Verify() != nil {
		t.Errorf("the next one begins: %v", err)
	}
	writeSplit(t, next, "train", []Example{{A: make7()}, {A: make7()}})
	if d, err := next.Finish(nil); err != nil || d.Verify() != nil || d.Manifest.Splits["train"].Rows != 2 {
		t.Fatalf("%v", err)
	}
	if got := names(t, dir); slices.ContainsFunc(got,
		func(name string) bool { return strings.HasSuffix(name, ".tmp") }) {
		t.Errorf("%q are left", got)
	}
}

// TestReplaceFails: an exchange that breaks off in its middle leaves the new data set, under
// the names that it has then.
func TestReplaceFails(t *testing.T) {
	dir := t.TempDir()
	buildDataset(t, dir)
	b := must.Get(CreateDataset(dir, listopsSpec(), true))(t)
	for _, split := range []string{"train", "val"} {
		writeSplit(t, b, split, []Example{{A: make7()}})
	}
	val := filepath.Join(dir, "val.arrow") // which no file can replace
	must.Succeed(t, errors.Join(os.Remove(val), os.MkdirAll(filepath.Join(val, "x"), 0o777)))
	must.Fail(t, "val.arrow")(b.Finish(nil))
	if d, err := OpenDataset(dir); err != nil || d.Verify() != nil || d.Manifest.Splits["train"].Rows != 1 ||
		len(d.Manifest.Splits) != 2 {
		t.Errorf("%v", err)
	}
}

// TestBusy: while one program makes a data set no other does in the same directory, also
// not one that adds a split.
func TestBusy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	b := must.Get(CreateDataset(dir, listopsSpec(), false))(t)
	must.FailWith(t, ErrBusy, "a second one")(CreateDataset(dir, listopsSpec(), true))
	b.Abort()
	must.FailWith(t, os.ErrNotExist, "what was given up is there")(os.Stat(dir))
	buildDataset(t, dir)
	b = must.Get(ExtendDataset(dir, listopsSpec(), true))(t)
	defer b.Abort()
	must.FailWith(t, ErrBusy, "a second one that extends")(ExtendDataset(dir, listopsSpec(), true))
}
