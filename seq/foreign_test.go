package seq

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestForeignFilesStay checks that a DatasetBuilder never overwrites a file of another program,
// even if it may replace an existing data set.
func TestForeignFilesStay(t *testing.T) {
	for name, content := range map[string]string{
		"train.arrow":  "ARROW1\x00\x00 of another program",
		"dataset.json": `{"title": "of another program"}`,
	} {
		for _, replace := range []bool{false, true} {
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			must.Succeed(t, os.WriteFile(path, []byte(content), 0o666))
			b, err := CreateDataset(dir, listopsSpec(), replace)
			if err == nil {
				_, err = b.Split("train")
				b.Abort()
			}
			if replace || name == "train.arrow" {
				must.Fail(t, name, replace)(err)
			} else {
				must.FailWith(t, ErrExists, name)(err)
			}
			if now := must.Get(os.ReadFile(path))(t); string(now) != content {
				t.Errorf("%s was overwritten with %q", name, now)
			}
		}
	}
}

// TestOwnFilesAreReplaced checks that a new data set may overwrite a damaged manifest, and the splits
// left by a program that was killed before it wrote the manifest.
func TestOwnFilesAreReplaced(t *testing.T) {
	dir := t.TempDir()
	buildDataset(t, dir)
	manifest := filepath.Join(dir, ManifestName)
	text := must.Get(os.ReadFile(manifest))(t)
	for _, change := range []func() error{
		func() error { return os.WriteFile(manifest, text[:len(text)/2], 0o666) },
		func() error { return os.Remove(manifest) },
	} {
		must.Succeed(t, change())
		b := must.Get(CreateDataset(dir, listopsSpec(), true))(t)
		writeSplit(t, b, "train", []Example{{A: make7()}})
		d := must.Get(b.Finish(nil))(t)
		must.Succeed(t, d.Verify())
	}
}
