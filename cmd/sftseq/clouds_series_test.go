package main

import (
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/seq"
)

// writeClouds writes small clouds, each another, of files NAME_0 to NAME_N, into a folder.
func writeClouds(t *testing.T, folder, name string, n int) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		writeText(t, filepath.Join(folder, fmt.Sprintf("%s_%d.xyz", name, i)), fmt.Sprintf("0 0 0\n1 0 0\n0 2 3\n0 %d 1\n", int(crc32.ChecksumIEEE([]byte(name)))+i))
	}
}

// convertedClouds converts a folder, and returns the data set and what was said of it.
func convertedClouds(t *testing.T, from string, flags ...string) (data, said string) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "data")
	status, _, errs := program(nil, append([]string{"data", "convert", "cloud", "--from", from, "--to", data, "--points", "4", "--no-baselines"}, flags...)...)
	if status != 0 {
		t.Fatal(errs)
	}
	return data, errs
}

// filesOfSeries are the numbers of files of each series, SPLIT/SERIES; a split without rows has no file.
func filesOfSeries(t *testing.T, data string) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, split := range []string{"train", "val", "test"} {
		path := filepath.Join(data, split+".arrow")
		if _, err := os.Stat(path); err != nil {
			continue
		}
		for _, id := range regexp.MustCompile(`"id":"[^"]*/([a-z]+)_`).FindAllStringSubmatch(succeed(t, "", "data", "head", "--rows", "100", path), -1) {
			out[split+"/"+id[1]]++
		}
	}
	return out
}

// TestSeriesFiles: a series gives as many files as are asked for at most, and those that it does not
// are counted.
func TestSeriesFiles(t *testing.T) {
	from := t.TempDir()
	for i := range 10 {
		writeClouds(t, filepath.Join(from, "pins"), "header"+string(rune('a'+i)), 4)
	}
	data, said := convertedClouds(t, from, "--by-series", "--val-part", "0.2", "--test-part", "0.2", "--series-files", "1")
	splits, files := map[string]int{}, filesOfSeries(t, data)
	for series, n := range files {
		split, _, _ := strings.Cut(series, "/")
		splits[split] += n
	}
	if want := map[string]int{"train": 6, "val": 2, "test": 2}; !maps.Equal(splits, want) || len(files) != 10 {
		t.Errorf("%v of %v, expected %v", splits, files, want)
	}
	if !strings.Contains(said, "30 files are not read: at most 1 of a series are taken\n") {
		t.Error(said)
	}
	if d, err := seq.OpenDataset(data); err != nil || fmt.Sprint(d.Manifest.Provenance["series_files"], d.Manifest.Provenance["spare_files"]) != "1 30" {
		t.Errorf("%v, %v", d, err)
	}
}

// TestSeriesBesideFolders: a series that is most of a class stays in training, where a folder for training
// gives a part to validation, also if other series are there.
func TestSeriesBesideFolders(t *testing.T) {
	from := t.TempDir()
	writeClouds(t, filepath.Join(from, "pins"), "header", 20)
	for i := range 10 {
		writeClouds(t, filepath.Join(from, "pins"), "single"+string(rune('a'+i)), 1)
	}
	writeClouds(t, filepath.Join(from, "pins/train"), "other", 40)
	data, _ := convertedClouds(t, from, "--by-series", "--series-files", "8", "--val-part", "0.3")
	files, singles := filesOfSeries(t, data), 0
	for series, n := range files {
		if strings.HasPrefix(series, "val/single") {
			singles += n
		}
	}
	if files["train/header"] != 8 || singles == 0 || files["val/other"] == 0 || files["train/other"]+files["val/other"] != 40 {
		t.Errorf("%v", files)
	}
}

// TestAbsentClasses: what a split lacks is said: all rows, or those of some classes.
func TestAbsentClasses(t *testing.T) {
	from := t.TempDir()
	pins := filepath.Join(from, "pins")
	writeClouds(t, pins, "header", 20)
	_, said := convertedClouds(t, from, "--by-series", "--val-part", "0.4", "--test-part", "0.4")
	for _, want := range []string{"warning: there is one class, pins, so train has nothing to learn: expected a folder for each class in ",
		"warning: no row is in val, which train needs: no class has three series, and of one or two none is small enough",
		"warning: no row is in test, with which eval measures: no class has three series"} {
		if !strings.Contains(said, want) {
			t.Errorf("%s, expected %s", said, want)
		}
	}
	if _, said := convertedClouds(t, from, "--by-series", "--val-part", "0", "--test-part", "0"); strings.Contains(said, "warning") {
		t.Error(said)
	}
	if _, said := convertedClouds(t, from, "--by-series", "--val-part", "0", "--test-part", "0.1"); strings.Contains(said, "in val") || !strings.Contains(said, "in test") {
		t.Error(said)
	}
	if _, said := convertedClouds(t, from, "--val-part", "0.98", "--test-part", "0.01"); !strings.Contains(said, "warning: no row is in train, from which models learn: more files, a smaller --val-part") {
		t.Error(said)
	}
	for i := range 10 {
		writeClouds(t, pins, "single"+string(rune('a'+i)), 1)
	}
	board := filepath.Join(from, "board")
	writeClouds(t, board, "b", 9)
	if _, said := convertedClouds(t, from, "--by-series"); !strings.Contains(said, "warning: 1 of 2 classes have no row in test, which says nothing of them: board\n") {
		t.Error(said)
	}
	if err := os.RemoveAll(board); err != nil {
		t.Fatal(err)
	}
	writeClouds(t, filepath.Join(from, "test/board"), "b", 1)
	if _, said := convertedClouds(t, from); !strings.Contains(said, "warning: 1 of 2 classes have no row in train, from which models learn: board\n") {
		t.Error(said)
	}
}

// TestFoldersWithoutRows: folders whose files cannot be used are named, and are no classes.
func TestFoldersWithoutRows(t *testing.T) {
	from := t.TempDir()
	writeClouds(t, filepath.Join(from, "first"), "a", 9)
	if err := os.MkdirAll(filepath.Join(from, "surfaces"), 0o777); err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(from, "surfaces", "b.off"), "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")
	_, said := convertedClouds(t, from)
	if !strings.Contains(said, "warning: no file of 1 of 2 folders has become a row, so they are no classes: surfaces\n") || strings.Contains(said, "there is one class") {
		t.Error(said)
	}
}
