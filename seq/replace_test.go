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

// fileNames returns the names of the files in a directory.
func fileNames(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// TestReplace checks that the existing data set stays unchanged while splits of a new data set are
// written, and after Abort. After Finish, only the files of the new data set must remain.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	old := buildDataset(t, dir)
	oldFiles := []string{"dataset.json", "test.arrow", "train.arrow", "val.arrow"}
	for _, finish := range []bool{false, true} {
		b := must.Get(CreateDataset(dir, listopsSpec(), true))(t)
		for _, split := range []string{"train", "val"} {
			writeSplit(t, b, split, []Example{{A: make7()}})
			if d, err := OpenDataset(dir); err != nil || d.Fingerprint() != old.Fingerprint() || d.Verify() != nil {
				t.Errorf("the data set changed after %s was closed; error %v", split, err)
			}
		}
		if !finish {
			b.Abort()
			if d, err := OpenDataset(dir); err != nil || d.Verify() != nil || !slices.Equal(fileNames(t, dir),
				oldFiles) {
				t.Errorf("the data set changed after Abort: error %v, files %q", err, fileNames(t, dir))
			}
			continue
		}
		d, err := b.Finish(nil)
		if err != nil || d.Verify() != nil || d.Manifest.Splits["train"].Rows != 1 {
			t.Fatalf("the new data set is not complete after Finish: %v", err)
		}
		if got := fileNames(t, dir); !slices.Equal(got, []string{"dataset.json", "train.arrow", "val.arrow"}) {
			t.Errorf("files %q after Finish, want only those of the new data set", got)
		}
	}
}

// TestCreateInRun checks that a data set cannot be created in the directory of a model or a run.
func TestCreateInRun(t *testing.T) {
	for _, name := range []string{"model.safetensors", "last"} {
		dir := t.TempDir()
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
		must.Fail(t, "found a model or a training run ("+name+")", dir)(CreateDataset(dir, listopsSpec(), true))
	}
}

// TestReplaceStaged simulates a program that was killed while it replaced a data set: the files of
// the new data set still have temporary names. The test checks that the new data set is complete and
// can be replaced.
func TestReplaceStaged(t *testing.T) {
	dir := t.TempDir()
	buildDataset(t, dir)
	b := must.Get(CreateDataset(dir, listopsSpec(), true))(t)
	writeSplit(t, b, "train", []Example{{A: make7()}})
	staged, info := b.manifest, b.closed[0].info
	info.File = filepath.Base(b.closed[0].writer.file.Temporary())
	staged.Splits = map[string]SplitInfo{"train": info}
	must.Succeed(t, b.writeManifest(&staged))
	b.lock.release() // as the operating system does when a process ends
	if d, err := OpenDataset(dir); err != nil || d.Verify() != nil || d.Manifest.Splits["train"].Rows != 1 {
		t.Fatalf("the staged data set is not complete: %v", err)
	}
	next := must.Get(CreateDataset(dir, listopsSpec(), true))(t)
	if d, err := OpenDataset(dir); err != nil || d.Verify() != nil {
		t.Errorf("the staged data set changed when a replacement began: %v", err)
	}
	writeSplit(t, next, "train", []Example{{A: make7()}, {A: make7()}})
	if d, err := next.Finish(nil); err != nil || d.Verify() != nil || d.Manifest.Splits["train"].Rows != 2 {
		t.Fatalf("the replacement is not complete after Finish: %v", err)
	}
	if got := fileNames(t, dir); slices.ContainsFunc(got,
		func(name string) bool { return strings.HasSuffix(name, ".tmp") }) {
		t.Errorf("temporary files remain: %q", got)
	}
}

// TestReplaceFails checks that the new data set is complete after a replacement that failed halfway.
func TestReplaceFails(t *testing.T) {
	dir := t.TempDir()
	buildDataset(t, dir)
	b := must.Get(CreateDataset(dir, listopsSpec(), true))(t)
	for _, split := range []string{"train", "val"} {
		writeSplit(t, b, split, []Example{{A: make7()}})
	}
	val := filepath.Join(dir, "val.arrow") // a directory that is not empty, which rename cannot replace
	must.Succeed(t, errors.Join(os.Remove(val), os.MkdirAll(filepath.Join(val, "x"), 0o777)))
	must.Fail(t, "val.arrow")(b.Finish(nil))
	if d, err := OpenDataset(dir); err != nil || d.Verify() != nil || d.Manifest.Splits["train"].Rows != 1 ||
		len(d.Manifest.Splits) != 2 {
		t.Errorf("the new data set is not complete after a failed replacement: %v", err)
	}
}

// TestBusy checks that creating or extending a data set fails while another builder writes a data set
// in the same directory.
func TestBusy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	b := must.Get(CreateDataset(dir, listopsSpec(), false))(t)
	must.FailWith(t, ErrBusy, "a second builder")(CreateDataset(dir, listopsSpec(), true))
	b.Abort()
	must.FailWith(t, os.ErrNotExist, "the aborted data set exists")(os.Stat(dir))
	buildDataset(t, dir)
	b = must.Get(ExtendDataset(dir, listopsSpec(), true))(t)
	defer b.Abort()
	must.FailWith(t, ErrBusy, "a second builder that extends the data set")(ExtendDataset(dir, listopsSpec(), true))
}
