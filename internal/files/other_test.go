package files

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestOther checks the class of rare kinds: half of the kinds in the splits of their packages, the others and
// half of the random bytes in the split unknown.
func TestOther(t *testing.T) {
	dir := t.TempDir()
	software(t, dir)
	rare := []string{".zig", ".swift", ".kt", ".dart", ".scala", ".nim"}
	for n := range 30 {
		folder := filepath.Join(dir, fmt.Sprintf("p%c%c", 'a'+n/26, 'a'+n%26))
		for i := range 4 {
			name := filepath.Join(folder, fmt.Sprint("rare", i, rare[n%len(rare)]))
			must.Check(t, os.WriteFile(name, fmt.Appendf(nil, "rare text %d of package %d", i, n), 0o666))
		}
	}
	o := DefaultOptions
	o.MinFiles, o.MinPackages, o.Seed = 21, 10, 1
	d, summary := collect(t, dir, o)
	if got := strings.Join(d.Manifest.LabelNames, " "); got != "gzip json manpage python zip other" {
		t.Fatalf("got the kinds %s", got)
	}
	rows := map[string]map[string]string{}
	seen, unseen := map[string]bool{}, map[string]bool{}
	random := map[bool]int{}
	for _, split := range []string{"train", "val", "test", Unknown} {
		rows[split] = texts(t, d, split)
		for id, text := range rows[split] {
			name, isRandom := strings.CutPrefix(id, "random-bytes/")
			switch {
			case isRandom:
				random[split == Unknown]++
			case !strings.Contains(text, "rare text"):
				continue
			case split == Unknown:
				unseen[filepath.Ext(name)] = true
			default:
				seen[filepath.Ext(name)] = true
				if python := filepath.Join(filepath.Dir(name), "x/man1/a.py"); rows[split][python] == "" {
					t.Errorf("%s is in %s, but not its package", name, split)
				}
			}
			if !strings.HasPrefix(text, Other+" ") {
				t.Errorf("%s has the class %s", id, strings.Fields(text)[0])
			}
		}
	}
	for _, extension := range rare {
		if seen[extension] == unseen[extension] {
			t.Errorf("%s is in known splits: %v, and in %s: %v", extension, seen[extension], Unknown, unseen[extension])
		}
	}
	if others := summary.Kinds[5]; others.Files != 20*len(seen) || random[true]+random[false] != others.Files/10 ||
		random[true] == 0 || random[false] == 0 {
		t.Errorf("got %+v and %v random rows, want %d files and a tenth of them", others, random, 20*len(seen))
	}
	o.Fragment = 16
	if d, _ := collect(t, dir, o); slices.Contains(d.Manifest.LabelNames, Other) {
		t.Error("a data set of fragments has the class other")
	}
}
