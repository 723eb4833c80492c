package atomicfile

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestCleanRemovesOnlyItsOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[x") // no pattern, though it looks like one
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".model.1x9z.tmp", ".model.1x9z.tmp.tmp", ".model.safetensors.1x9z.tmp", ".model.safetensors.1x9z.tmp.tmp", ".other.1x9z.tmp", "model", ".model.tmp"} {
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
	want := []string{".model.safetensors.1x9z.tmp", ".model.safetensors.1x9z.tmp.tmp", ".model.tmp", ".other.1x9z.tmp", "model"}
	if !slices.Equal(left, want) {
		t.Errorf("left %v, expected %v", left, want)
	}
}

// TestCleanOld: what was written to lately stays.
func TestCleanOld(t *testing.T) {
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{".a.arrow.1.tmp": 2 * time.Hour, ".b.arrow.2.tmp": 0, ".c.json.3.tmp": 2 * time.Hour, "d.arrow": 2 * time.Hour} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if at := time.Now().Add(-age); os.Chtimes(path, at, at) != nil {
			t.Fatal(path)
		}
	}
	if err := CleanOld(dir, ".arrow", time.Hour); err != nil {
		t.Fatal(err)
	}
	expectOnly(t, dir, map[string]string{".b.arrow.2.tmp": "", ".c.json.3.tmp": "", "d.arrow": ""})
}
