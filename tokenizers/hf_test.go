package tokenizers

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestWriteFileCleans checks that WriteFile removes temporary files of tokenizer.json and no others.
func TestWriteFileCleans(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".tokenizer.json.1abc.tmp", ".other.json.1abc.tmp"} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o666))
	}
	must.Succeed(t, WriteFile(dir, []byte("{}")))
	entries := must.Get(os.ReadDir(dir))(t)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{".other.json.1abc.tmp", FileName}; !slices.Equal(names, want) {
		t.Errorf("files %q, want %q", names, want)
	}
}
