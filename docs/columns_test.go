package docs

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// columns is the maximum width of a line of Go, where a tab counts as four columns. maxWide is the
// maximum number of longer lines: long strings, and code with a comment after it. It may only
// decrease.
const (
	columns = 120
	maxWide = 530
)

// TestColumns checks that the number of lines with more than 120 columns does not increase.
func TestColumns(t *testing.T) {
	tree, wide := os.DirFS(".."), 0
	must.Succeed(t, fs.WalkDir(tree, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(file) != ".go":
			return nil
		}
		text, err := fs.ReadFile(tree, file)
		for line := range strings.Lines(string(text)) {
			line = strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "    ")
			if len([]rune(line)) > columns && !strings.Contains(string(text[:min(len(text), 100)]), "Code generated") {
				wide++
			}
		}
		return err
	}))
	if wide > maxWide {
		t.Errorf("%d lines of Go have more than %d columns, at most %d are allowed: break the new ones", wide, columns, maxWide)
	} else if wide < maxWide {
		t.Logf("lower maxWide to %d", wide)
	}
}
