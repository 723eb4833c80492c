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

// TestKillsOfGeneration kills "sftseq data generate" while it replaces a data set.
func TestKillsOfGeneration(t *testing.T) {
	killReplacements(t, 2, func(dir string, index int) []string {
		return []string{"data", "generate", "listops", "--out", dir, "--force", "--seed", fmt.Sprint(index + 1),
			"--train", "60", "--val", "20", "--test", "20", "--min-length", "20", "--max-length", "200"}
	})
}

// TestKillsOfConversion kills "sftseq data convert" while it replaces a data set.
func TestKillsOfConversion(t *testing.T) {
	from := t.TempDir()
	killReplacements(t, 3, func(dir string, index int) []string {
		path := filepath.Join(from, fmt.Sprintf("%d.csv", index))
		if _, err := os.Stat(path); err != nil {
			var text strings.Builder
			for row := range 400 {
				fmt.Fprintf(&text, "row %d of table %d,%s\n", row*row, index, []string{"even", "odd"}[row%2])
			}
			writeText(t, path, "text,label\n"+text.String())
		}
		return []string{"data", "convert", "--from", path, "--to", dir, "--text", "text", "--label", "label", "--force"}
	})
}

// killReplacements repeatedly replaces a data set by another data set and kills the program at
// random moments. It checks that the old or the new data set is complete after each kill, and that no
// other files remain at the end. command returns the arguments that write one of two data sets to dir;
// index is 0 or 1.
func killReplacements(t *testing.T, seed uint64, command func(dir string, index int) []string) {
	program, dir := built(t), filepath.Join(t.TempDir(), "data")
	var fingerprints [2]string
	took := timed(t, program, command(dir, 1)...)
	files := names(t, dir)
	for index := range fingerprints {
		timed(t, program, command(dir, index)...)
		fingerprints[index] = wholeSet(t, dir)
	}
	if fingerprints[0] == fingerprints[1] {
		t.Fatal("the two data sets are equal")
	}
	k := newKiller(t, seed)
	current, replaced := 1, 0
	for k.wantsMore(t) {
		ended := k.run(t, 5*took/4, program, command(dir, 1-current)...)
		switch found := slices.Index(fingerprints[:], wholeSet(t, dir)); {
		case found < 0:
			t.Fatal("the data set is neither the old one nor the new one")
		case ended && found == current:
			t.Fatal("the program exited with success, but left the old data set")
		case found != current:
			current, replaced = found, replaced+1
		}
	}
	timed(t, program, command(dir, 1)...)
	if remaining := names(t, dir); wholeSet(t, dir) != fingerprints[1] || !slices.Equal(remaining, files) {
		t.Errorf("after the last replacement: got files %v, want %v and the data set of index 1", remaining, files)
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
