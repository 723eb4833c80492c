package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestDataFiles collects the files of 30 packages, trains a linear model of their kinds and evaluates it
// on the splits test and mislabelled.
func TestDataFiles(t *testing.T) {
	dir := t.TempDir()
	software, data, model := filepath.Join(dir, "software"), filepath.Join(dir, "data"), filepath.Join(dir, "model")
	for n := range 30 {
		folder := filepath.Join(software, fmt.Sprintf("p%c%c", 'a'+n/26, 'a'+n%26), "src")
		must.Check(t, os.MkdirAll(folder, 0o777))
		for i := range 8 {
			write := func(extension, format string) {
				writeText(t, filepath.Join(folder, fmt.Sprint(i, extension)), fmt.Sprintf(format, n, i))
			}
			write(".py", "import module_%d\nprint(%d)\n")
			write(".go", "package p%d\n\nvar x = %d\n")
			write(".sh", "GIF89a, not a script %d %d")
		}
	}
	args := []string{"files", "--from", software, "--to", data}
	out := mustRunData(t, args...)
	contains(t, out, "go             240 files of 30 packages", "python         240 files of 30 packages",
		"2 kinds; omitted: 0 files with contradicting content, 0 duplicates, 0 unreadable",
		"omitted kinds, with files and packages: shell 0/0", "baselines of test: largest class")
	refuse(t, exitError, "(--force replaces it)", "", append([]string{"data"}, args...)...)
	contains(t, mustRunData(t, append(args, "--force", "--fragment", "20", "--no-baselines")...), "rows of 20 tokens")
	contains(t, mustRunData(t, append(args, "--force", "--no-baselines")...), "240 files")
	exits(t, exitOK, "", "train", "custom", "--members", "linear", "--data", data, "--out", model)
	contains(t, succeed(t, "", "eval", "--model", model, "--data", data), "accuracy  100.00%")

	for n := range 30 { // four wrong files of 30 packages are omitted, or in the split mislabelled
		folder := filepath.Join(software, fmt.Sprintf("p%c%c", 'a'+n/26, 'a'+n%26), "src")
		for i := range 4 {
			writeText(t, filepath.Join(folder, fmt.Sprintf("%d.py", i)),
				fmt.Sprintf("GIF89a package p%d var x = %d\n", n, i))
		}
	}
	out = mustRunData(t, append(args, "--force", "--min-files", "100", "--no-baselines")...)
	contains(t, out, "omitted: 120 files with contradicting content", "mislabelled.arrow: ")
	out = succeed(t, "", "eval", "--model", model, "--data", data, "--split", "mislabelled")
	contains(t, out, "accuracy   0.00%")

	absent := filepath.Join(dir, "absent")
	refuse(t, exitError, "--from: "+absent+": no such file", "", "data", "files", "--from", absent, "--to",
		filepath.Join(dir, "to"))
	refuse(t, exitUsage, "--to", "", "data", "files", "--from", software)
	refuse(t, exitUsage, "--per-kind 0: expected 1 or more", "", "data", "files", "--from", software, "--to", absent,
		"--per-kind", "0")
	refuse(t, exitError, "expected two kinds with 1000 files of 20 packages, found 0", "", "data", "files", "--from",
		software, "--to", absent, "--min-files", "1000")
	if _, err := os.Stat(absent); err == nil {
		t.Error("a failed command leaves a folder")
	}
	if left := must.Get(filepath.Glob(filepath.Join(data, "*.tmp*")))(t); left != nil {
		t.Errorf("temporary files: %s", strings.Join(left, ", "))
	}
}
