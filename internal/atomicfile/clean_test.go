package atomicfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

func TestCleanRemovesOnlyItsOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[x") // looks like a glob pattern, but is a plain name
	must.Succeed(t, os.Mkdir(dir, 0o777))
	for _, name := range []string{".model.1x9z.tmp", ".model.1x9z.tmp.tmp", ".model.safetensors.1x9z.tmp",
		".model.safetensors.1x9z.tmp.tmp", ".other.1x9z.tmp", "model", ".model.tmp"} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
	}
	must.Succeed(t, Clean(filepath.Join(dir, "model")))
	var remaining []string
	entries := must.Get(os.ReadDir(dir))(t)
	for _, e := range entries {
		remaining = append(remaining, e.Name())
	}
	want := []string{".model.safetensors.1x9z.tmp", ".model.safetensors.1x9z.tmp.tmp", ".model.tmp",
		".other.1x9z.tmp", "model"}
	if !slices.Equal(remaining, want) {
		t.Errorf("got files %v, want %v", remaining, want)
	}
}

// TestCreateRemovesLeftovers checks that Create removes leftovers of killed programs but keeps the
// files of running programs, and that CreateKeeping removes nothing.
func TestCreateRemovesLeftovers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	dead, other := filepath.Join(dir, ".x.1abc.tmp"), filepath.Join(dir, ".x.y.1abc.tmp")
	for _, name := range []string{dead, other} {
		must.Succeed(t, os.WriteFile(name, nil, 0o666))
	}
	kept := must.Get(CreateKeeping(path))(t)
	defer kept.Abort()
	must.Get(os.Stat(dead))(t)
	live := must.Get(Create(path))(t)
	defer live.Abort()
	must.FailWith(t, fs.ErrNotExist)(os.Stat(dead))
	must.Get(os.Stat(other))(t)
	for _, f := range []*File{kept, live} {
		must.Get(os.Stat(f.Temporary()))(t)
	}
	must.Succeed(t, live.Commit())
}
