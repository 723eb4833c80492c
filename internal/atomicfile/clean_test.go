package atomicfile

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestCleanRemovesOnlyItsOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[x") // no pattern, though it looks like one
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".model.1x9z.tmp", ".model.safetensors.1x9z.tmp", ".other.1x9z.tmp", "model", ".model.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := Clean(filepath.Join(dir, "model")); err != nil {
		t.Fatal(err)
	}
	var left []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		left = append(left, e.Name())
	}
	want := []string{".model.safetensors.1x9z.tmp", ".model.tmp", ".other.1x9z.tmp", "model"}
	if !slices.Equal(left, want) {
		t.Errorf("left %v, expected %v", left, want)
	}
}
