package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// TestKillsOfGeneration checks that a data set is complete at every moment while a newly generated
// data set replaces it.
func TestKillsOfGeneration(t *testing.T) {
	killReplacements(t, 2, func(dir string, which int) []string {
		return []string{"data", "generate", "listops", "--out", dir, "--force", "--seed", fmt.Sprint(which + 1),
			"--train", "60", "--val", "20", "--test", "20", "--min-length", "20", "--max-length", "200"}
	})
}

// TestKillsOfConversion checks that a data set is complete at every moment while a newly converted
// data set replaces it.
func TestKillsOfConversion(t *testing.T) {
	from := t.TempDir()
	killReplacements(t, 3, func(dir string, which int) []string {
		path := filepath.Join(from, fmt.Sprintf("%d.csv", which))
		if _, err := os.Stat(path); err != nil {
			var text strings.Builder
			for row := range 400 {
				fmt.Fprintf(&text, "row %d of table %d,%s\n", row*row, which, []string{"even", "odd"}[row%2])
			}
			writeText(t, path, "text,label\n"+text.String())
		}
		return []string{"data", "convert", "--from", path, "--to", dir, "--text", "text", "--label", "label", "--force"}
	})
}

// killReplacements repeatedly replaces a data set by one of two data sets and kills the program
// meanwhile. Either the old or the new data set exists and is complete. At the end no other file
// exists.
func killReplacements(t *testing.T, seed uint64, make func(dir string, which int) []string) {
	program, dir := built(t), filepath.Join(t.TempDir(), "data")
	var prints [2]string
	took := timed(t, program, make(dir, 1)...)
	files := names(t, dir)
	for which := range prints {
		timed(t, program, make(dir, which)...)
		prints[which] = wholeSet(t, dir)
	}
	if prints[0] == prints[1] {
		t.Fatal("the two data sets are equal")
	}
	k := newKiller(t, seed)
	there, replaced := 1, 0
	for k.wantsMore(t) {
		ended := k.run(t, 5*took/4, program, make(dir, 1-there)...)
		switch found := slices.Index(prints[:], wholeSet(t, dir)); {
		case found < 0:
			t.Fatal("the data set is neither the old one nor the new one")
		case ended && found == there:
			t.Fatal("the program exited with success, but left the old data set")
		case found != there:
			there, replaced = found, replaced+1
		}
	}
	timed(t, program, make(dir, 1)...)
	if left := names(t, dir); wholeSet(t, dir) != prints[1] || !slices.Equal(left, files) {
		t.Errorf("files %v, expected %v", left, files)
	}
	t.Logf("replaced %d times", replaced)
}

// wholeSet returns the fingerprint of a data set after verifying its files.
func wholeSet(t *testing.T, dir string) string {
	t.Helper()
	set, err := seq.OpenDataset(dir)
	if err == nil {
		err = set.Verify()
	}
	must.Succeed(t, err)
	return set.Fingerprint()
}

// names returns the names of a directory's files.
func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	for _, e := range must.Get(os.ReadDir(dir))(t) {
		out = append(out, e.Name())
	}
	return out
}
