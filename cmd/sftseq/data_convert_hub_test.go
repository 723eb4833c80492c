package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/sftseq/sftseq/internal/must"
)

// hubTable writes a Parquet file in the format of Hugging Face's datasets library, with rows of the
// classes neg and pos.
func hubTable(t *testing.T, path string, rows int) {
	t.Helper()
	must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o777))
	metadata := arrow.NewMetadata([]string{"huggingface"},
		[]string{`{"info":{"features":{"label":{"names":["neg","pos"],"_type":"ClassLabel"}}}}`})
	schema := arrow.NewSchema([]arrow.Field{{Name: "text", Type: arrow.BinaryTypes.String},
		{Name: "label", Type: arrow.PrimitiveTypes.Int64}}, &metadata)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range rows {
		b.Field(0).(*array.StringBuilder).Append(fmt.Sprintf("row %d of %s", i, path))
		b.Field(1).(*array.Int64Builder).Append(int64(i % 2))
	}
	f := must.Get(os.Create(path))(t)
	w := must.Get(pqarrow.NewFileWriter(schema, f, nil, pqarrow.DefaultWriterProps()))(t)
	must.Succeed(t, w.Write(b.NewRecord()))
	must.Succeed(t, w.Close())
}

// TestConvertHub checks that data sets in the layout of the Hugging Face Hub keep their class names,
// and keep their splits unless --split is given.
func TestConvertHub(t *testing.T) {
	for name, files := range map[string][]string{
		"files": {"data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet",
			"data/test-00000-of-00001.parquet"},
		"folders": {"train/0.parquet", "train/1.parquet", "test/0.parquet"},
	} {
		dir := t.TempDir()
		for _, file := range files {
			hubTable(t, filepath.Join(dir, file), 20)
		}
		if name == "files" {
			writeText(t, filepath.Join(dir, "README.md"), "---\ndataset_info: {}\n---\n")
		}
		flags := []string{"--from", dir, "--text", "text", "--label", "label", "--no-baselines"}
		d, _, errs := converted(t, append(flags, "--val-part", "0")...)
		equal(t, rowCounts(d), "train 40, test 20")
		contains(t, errs, dir+": keeping the splits test, train; --split splits the rows again")
		notContains(t, errs, "are split again by")
		equal(t, fmt.Sprint(d.Manifest.LabelNames), "[neg pos]")
		d, _, errs = converted(t, flags...)
		contains(t, errs, "with 0.1 of the rows of train moved to val (--val-part)")
		if d.Manifest.Splits["test"].Rows != 20 || d.Manifest.Splits["val"].Rows == 0 ||
			d.Manifest.Splits["train"].Rows+d.Manifest.Splits["val"].Rows != 40 {
			t.Errorf("%s: got %s, want test 20, rows in val, and 40 rows in train and val", name, rowCounts(d))
		}
		d, _, errs = converted(t, append(flags, "--split", "1,0,0")...)
		equal(t, rowCounts(d), "train 60")
		notContains(t, errs, "keeping the splits")
		notContains(t, errs, "are split again by")
	}
}

// TestConvertHubJSON checks that convert takes the splits of JSON lines from the dataset card, that a
// split may have any name, and that --split-column path works.
func TestConvertHubJSON(t *testing.T) {
	dir := t.TempDir()
	rows := strings.Repeat(`{"text":"a","label":0}`+"\n"+`{"text":"b","label":1}`+"\n", 10)
	for _, name := range []string{"a", "b", "c"} {
		writeText(t, filepath.Join(dir, name+".jsonl"), rows)
	}
	writeText(t, filepath.Join(dir, "README.md"), "---\nconfigs:\n- config_name: default\n  data_files:\n"+
		"  - split: train\n    path: b*\n  - split: test\n    path: a*\n  - split: unlabelled\n    path: c*\n---\n")
	flags := []string{"--from", dir, "--text", "text", "--label", "label", "--no-baselines"}
	d, _, errs := converted(t, append(flags, "--val-part", "0")...)
	equal(t, rowCounts(d), "train 20, test 20, unlabelled 20")
	contains(t, errs, dir+": keeping the splits test, train, unlabelled")
	d, _, _ = converted(t, append(flags, "--split-column", "path", "--split-pattern", "(?<train>[bc])|(?<val>a)")...)
	equal(t, rowCounts(d), "train 40, val 20")
}

// TestConvertMissingShard checks that convert warns once if a file of a numbered series is missing.
func TestConvertMissingShard(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"train-00000-of-00003", "train-00002-of-00003", "test-00000-of-00001"} {
		hubTable(t, filepath.Join(dir, "data", name+".parquet"), 20)
	}
	flags := []string{"--from", dir, "--text", "text", "--label", "label", "--no-baselines"}
	_, _, errs := converted(t, flags...)
	contains(t, errs, filepath.Join(dir, "data", "train-00001-of-00003.parquet")+" is missing among the numbered ")
	equal(t, strings.Count(errs, "is missing"), 1, errs)
	hubTable(t, filepath.Join(dir, "data", "train-00001-of-00003.parquet"), 20)
	_, _, errs = converted(t, flags...)
	notContains(t, errs, "is missing")
}

// TestPredictMissingShard checks that predict warns of a missing file in a folder, even if it reads
// only part of the folder.
func TestPredictMissingShard(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"train-00000-of-00003", "train-00002-of-00003"} {
		writeText(t, filepath.Join(dir, name+".jsonl"), `{"text":"[MAX 2 9 ]"}`+"\n")
	}
	missing := "warning: " + filepath.Join(dir, "train-00001-of-00003.jsonl") + " is missing among the numbered "
	flags := []string{"predict", "--model", goldenPath("pre"), "--input", dir, "--text", "text"}
	for _, more := range [][]string{nil, {"--shard", "0/2", "--output", filepath.Join(t.TempDir(), "x") + "/"}} {
		_, errs := exits(t, exitOK, "", append(flags, more...)...)
		contains(t, errs, missing)
		equal(t, strings.Count(errs, "is missing"), 1, errs)
	}
	writeText(t, filepath.Join(dir, "train-00001-of-00003.jsonl"), `{"text":"[MAX 2 9 ]"}`+"\n")
	_, errs := exits(t, exitOK, "", flags...)
	notContains(t, errs, "is missing")
}

// TestHubConfigsRefused checks that convert and predict refuse a folder with several configurations
// and list them.
func TestHubConfigsRefused(t *testing.T) {
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, "README.md"), "---\nconfigs:\n- config_name: en\n  data_files: en-*.csv\n"+
		"- config_name: fr\n  data_files: fr-*.csv\n---\n")
	for _, name := range []string{"en-train", "fr-train"} {
		writeText(t, filepath.Join(dir, name+".csv"), "text,label\n[MAX 2 9 ],a\n")
	}
	want := "expected tables of one configuration, found tables of en, fr (" + filepath.Join(dir, "README.md") +
		":3): pass the files of one configuration, or a folder that contains no other tables, such as " + filepath.Join(dir, "en-train.csv")
	for _, args := range [][]string{
		{"data", "convert", "--from", dir, "--to", filepath.Join(t.TempDir(), "x"), "--text", "text", "--label",
			"label"},
		{"predict", "--model", goldenPath("pre"), "--input", dir, "--text", "text"},
		{"predict", "--model", goldenPath("pre"), "--input", dir, "--text", "text", "--format", "csv"},
	} {
		contains(t, failing(t, "", args...), want)
	}
}

// TestConvertCardClasses checks that the class names in a dataset card become the labels of CSV files,
// whose columns have no types.
func TestConvertCardClasses(t *testing.T) {
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, "README.md"), "---\ndataset_info:\n  features:\n  - name: label\n    dtype:\n"+
		"      class_label:\n        names:\n          '0': neg\n          '1': pos\n---\n")
	must.Succeed(t, os.Mkdir(filepath.Join(dir, "data"), 0o777))
	for _, split := range []string{"train", "test"} {
		writeText(t, filepath.Join(dir, "data", split+".csv"), "text,label\n"+strings.Repeat("a,1\nb,0\n", 10))
	}
	d, _, _ := converted(t, "--from", dir, "--text", "text", "--label", "label", "--no-baselines", "--val-part", "0")
	equal(t, fmt.Sprint(d.Manifest.LabelNames), "[neg pos]")
	equal(t, rowCounts(d), "train 20, test 20")
}

// TestKeepUnreadable checks that the error about a column that cannot be copied suggests leaving
// it out of --keep.
func TestKeepUnreadable(t *testing.T) {
	path := filepath.Join("..", "..", "internal", "table", "testdata", "variant.parquet")
	for _, name := range []string{"x.jsonl", "x.parquet"} {
		refuse(t, exitError, "found VARIANT (Parquet): convert the column to text, or leave it out of --keep", "",
			"predict", "--model", goldenPath("pre"), "--input", path, "--text", "text", "--keep", "extra", "--output",
			filepath.Join(t.TempDir(), name))
	}
}
