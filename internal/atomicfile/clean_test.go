package atomicfile

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
)

func TestCleanRemovesOnlyItsOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[x") // no pattern, though it looks like one
	must.Succeed(t, os.Mkdir(dir, 0o777))
	for _, name := range []string{".model.1x9z.tmp", ".model.1x9z.tmp.tmp", ".model.safetensors.1x9z.tmp", ".model.safetensors.1x9z.tmp.tmp", ".other.1x9z.tmp", "model", ".model.tmp"} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
	}
	must.Succeed(t, Clean(filepath.Join(dir, "model")))
	var left []string
	entries := must.Get(os.ReadDir(dir))(t)
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
		must.Succeed(t, os.WriteFile(path, nil, 0o666))
		if at := time.Now().Add(-age); os.Chtimes(path, at, at) != nil {
			t.Fatal(path)
		}
	}
	must.Succeed(t, CleanOld(dir, ".arrow", time.Hour))
	expectOnly(t, dir, map[string]string{".b.arrow.2.tmp": "", ".c.json.3.tmp": "", "d.arrow": ""})
}
