package main

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// writeClouds writes n small, distinct clouds to files NAME_0.xyz, NAME_1.xyz, … in a folder.
func writeClouds(t *testing.T, folder, name string, n int) {
	t.Helper()
	must.Succeed(t, os.MkdirAll(folder, 0o777))
	for i := range n {
		writeText(t, filepath.Join(folder, fmt.Sprintf("%s_%d.xyz", name, i)),
			fmt.Sprintf("0 0 0\n1 0 0\n0 2 3\n0 %d 1\n", int(crc32.ChecksumIEEE([]byte(name))%1000)+i))
	}
}

// convertedClouds converts a folder and returns the directory of the data set and the warnings.
func convertedClouds(t *testing.T, from string, flags ...string) (data, errs string) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "data")
	_, errs = exits(t, exitOK, "",
		append([]string{"data", "convert", "cloud", "--from", from, "--to", data, "--points", "4",
			"--no-baselines"}, flags...)...)
	return data, errs
}

// TestAbsentClasses checks that convert warns of splits without rows, and of splits without rows of
// some classes.
func TestAbsentClasses(t *testing.T) {
	from := t.TempDir()
	pins := filepath.Join(from, "pins")
	writeClouds(t, pins, "header", 1)
	_, errs := convertedClouds(t, from)
	contains(t, errs, "warning: the only class is pins, so train has nothing to learn: expected a folder for each "+
		"class in ",
		"warning: the split val is empty, and train needs it: add files, or change --val-part or --seed",
		"warning: the split test is empty, and eval needs it: add files, or change --test-part or --seed")
	untrained := 0
	for i := range 3 { // the malformed file is in a different split each time
		writeClouds(t, pins, "header", 3)
		writeText(t, filepath.Join(pins, fmt.Sprintf("header_%d.xyz", i)), "0 0\n")
		_, errs := convertedClouds(t, from)
		untrained += strings.Count(errs,
			"warning: the split train is empty, so models cannot learn: add files, or change --val-part")
	}
	equal(t, untrained, 1)
	writeClouds(t, pins, "header", 20)
	if _, errs := convertedClouds(t, from, "--val-part", "0", "--test-part", "0"); strings.Contains(errs, "warning") {
		t.Errorf("unexpected warnings:\n%s", errs)
	}
	if _, errs := convertedClouds(t, from, "--val-part", "0", "--test-part", "0.1"); strings.Contains(errs, "split "+
		"val") ||
		strings.Contains(errs, "split test") {
		t.Errorf("unexpected warnings:\n%s", errs)
	}
	board := filepath.Join(from, "board")
	writeClouds(t, board, "b", 1)
	if _, errs := convertedClouds(t, from, "--seed", "1"); !strings.Contains(errs,
		"warning: 1 class has only one row, in train: board; the validation and test splits do not measure it\n") {
		t.Errorf("unexpected warnings:\n%s", errs)
	}
	must.Succeed(t, os.RemoveAll(board))
	writeClouds(t, filepath.Join(from, "test/board"), "b", 1)
	if _, errs := convertedClouds(t, from); !strings.Contains(errs,
		"warning: 1 of 2 classes has no row in train, so models cannot learn it: board\n") {
		t.Errorf("unexpected warnings:\n%s", errs)
	}
}

// TestFoldersWithoutRows checks that a warning names folders without usable files, which are not
// classes.
func TestFoldersWithoutRows(t *testing.T) {
	from := t.TempDir()
	writeClouds(t, filepath.Join(from, "first"), "a", 9)
	must.Succeed(t, os.MkdirAll(filepath.Join(from, "surfaces"), 0o777))
	writeText(t, filepath.Join(from, "surfaces", "b.off"), "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")
	_, errs := convertedClouds(t, from)
	contains(t, errs, "warning: no file of 1 of 2 folders could be converted, so these folders are not classes: "+
		"surfaces\n")
	notContains(t, errs, "the only class is")
}
