package files

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestOther checks the class "other". Some rare kinds are in the splits of their packages; the remaining rare
// kinds and half of the random rows are in the split "unknown".
func TestOther(t *testing.T) {
	dir := t.TempDir()
	software(t, dir)
	rare := []string{".zig", ".swift", ".kt", ".dart", ".scala", ".nim"}
	for n := range 30 {
		folder := filepath.Join(dir, fmt.Sprintf("p%c%c", 'a'+n/26, 'a'+n%26))
		for i := range 4 {
			name := filepath.Join(folder, fmt.Sprint("rare", i, rare[n%len(rare)]))
			must.Check(t, os.WriteFile(name, fmt.Appendf(nil, "rare text %d of package %d", i, n), 0o666))
			wrong := filepath.Join(folder, fmt.Sprint("wrong", i, rare[n%len(rare)]))
			must.Check(t, os.WriteFile(wrong, fmt.Appendf(nil, "GIF89a rare text %d of package %d", i, n), 0o666))
		}
	}
	o := DefaultOptions
	o.MinFiles, o.MinPackages, o.Seed = 21, 10, 1
	d, summary := collect(t, dir, o)
	if got := strings.Join(d.Manifest.LabelNames, " "); got != "gzip json manpage python zip other" {
		t.Fatalf("got the kinds %s, want gzip json manpage python zip other", got)
	}
	rows := map[string]map[string]string{}
	seen, unseen := map[string]bool{}, map[string]bool{}
	random, lengths, total := map[string]int{}, map[int]bool{}, 0
	for _, split := range []string{"train", "val", "test", Unknown} {
		rows[split] = texts(t, d, split)
		for id, text := range rows[split] {
			name, isRandom := strings.CutPrefix(id, "random-bytes/")
			switch {
			case isRandom:
				random[split]++
				total++
				lengths[len(text)] = true
			case strings.Contains(text, "GIF89a rare"):
				t.Errorf("%s contradicts its kind and is in %s", id, split)
			case !strings.Contains(text, "rare text"):
				continue
			case split == Unknown:
				unseen[filepath.Ext(name)] = true
			default:
				seen[filepath.Ext(name)] = true
				if python := filepath.Join(filepath.Dir(name), "x/man1/a.py"); rows[split][python] == "" {
					t.Errorf("%s is in %s, but %s is not", name, split, python)
				}
			}
			if !strings.HasPrefix(text, Other+" ") {
				t.Errorf("%s has the class %s, want other", id, strings.Fields(text)[0])
			}
		}
	}
	for _, extension := range rare {
		if seen[extension] == unseen[extension] {
			t.Errorf("%s is in known splits: %v, and in %s: %v, want exactly one", extension, seen[extension], Unknown,
				unseen[extension])
		}
	}
	if others := summary.Kinds[5]; others.Files != 20*len(seen) || total != others.Files/10 || summary.Random != total {
		t.Errorf("got %+v and %d random rows, want %d files and %d rows", others, total, 20*len(seen), 2*len(seen))
	}
	for _, k := range summary.Rare {
		want := "" // pyc has only files whose content contradicts the kind
		switch extension := map[string]string{"kotlin": ".kt"}[k.Name]; {
		case seen[cmp.Or(extension, "."+k.Name)]:
			want = Other
		case unseen[cmp.Or(extension, "."+k.Name)]:
			want = Unknown
		}
		if k.In != want {
			t.Errorf("the summary of %s: got In %q, want %q", k.Name, k.In, want)
		}
	}
	if random[Unknown] != total/2 || len(lengths) < total/2 {
		t.Errorf("got %d of %d random rows in %s and %d lengths, want %d rows and at least %[5]d lengths",
			random[Unknown], total, Unknown, len(lengths), total/2)
	}
	rowsOf := func(o Options) (text string) {
		for _, r := range o.randomRows(100) {
			text += r.split + string(r.bytes)
		}
		return text
	}
	seed2 := o
	seed2.Seed = 2
	if many := rowsOf(o); many == rowsOf(seed2) || many != rowsOf(o) || !strings.Contains(many, "train") ||
		!strings.Contains(many, "val") || !strings.Contains(many, "test") {
		t.Error("random rows do not depend on the seed alone, or are not in all splits")
	}
	o.Fragment = 16
	if d, _ := collect(t, dir, o); slices.Contains(d.Manifest.LabelNames, Other) {
		t.Error("a data set of fragments has the class other")
	}
}

// TestOneKind checks that a single kind with enough files is an error, even if rare kinds have enough
// files for the class "other".
func TestOneKind(t *testing.T) {
	dir := t.TempDir()
	for n := range 40 {
		folder := filepath.Join(dir, fmt.Sprintf("p%c%c", 'a'+n/26, 'a'+n%26))
		must.Check(t, os.MkdirAll(folder, 0o777))
		for i := range 2 {
			write := func(extension string) {
				must.Check(t, os.WriteFile(filepath.Join(folder, fmt.Sprint(i, extension)),
					fmt.Appendf(nil, "text %d of package %d%s", i, n, extension), 0o666))
			}
			write(".py")
			write([]string{".zig", ".swift", ".kt", ".dart"}[n%4])
		}
	}
	o := DefaultOptions
	o.MinFiles, o.MinPackages, o.Seed = 25, 15, 1
	found := must.Get(Walk(context.Background(), []string{dir}, &Packages{}, func(int) {}))(t)
	_, summary, err := Write(context.Background(), filepath.Join(t.TempDir(), "data"), o.Choose(found), o)
	if err == nil || !strings.Contains(err.Error(), "expected at least 2 kinds with files in every split (--min-files 25") ||
		len(summary.Kinds) != 1 {
		t.Errorf("got error %v and summary %+v, want an error about the number of kinds, and one kind",
			err, summary)
	}
}
