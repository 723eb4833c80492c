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

// hubTable writes a Parquet file as Hugging Face's library does, with rows of the classes neg and pos.
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

// TestConvertHub: data sets that are laid out as on the Hub keep their splits and the names of their classes, unless
// --split divides their rows.
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
		contains(t, errs, dir+": the splits test, train are kept; --split divides the rows anew")
		notContains(t, errs, "are divided anew, as")
		equal(t, fmt.Sprint(d.Manifest.LabelNames), "[neg pos]")
		d, _, errs = converted(t, flags...)
		contains(t, errs, "are kept, and 0.1 of the rows of train validate (--val-part)")
		if d.Manifest.Splits["test"].Rows != 20 || d.Manifest.Splits["val"].Rows == 0 ||
			d.Manifest.Splits["train"].Rows+d.Manifest.Splits["val"].Rows != 40 {
			t.Errorf("%s: %s", name, rowCounts(d))
		}
		d, _, errs = converted(t, append(flags, "--split", "1,0,0")...)
		equal(t, rowCounts(d), "train 60")
		notContains(t, errs, "train are kept")
		notContains(t, errs, "are divided anew, as")
	}
}

// TestConvertMissingShard: a table of several that is not there is warned of, once.
func TestConvertMissingShard(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"train-00000-of-00003", "train-00002-of-00003", "test-00000-of-00001"} {
		hubTable(t, filepath.Join(dir, "data", name+".parquet"), 20)
	}
	flags := []string{"--from", dir, "--text", "text", "--label", "label", "--no-baselines"}
	_, _, errs := converted(t, flags...)
	contains(t, errs, filepath.Join(dir, "data", "train-00001-of-00003.parquet")+" is missing, as the names of the ")
	equal(t, strings.Count(errs, "is missing"), 1, errs)
	hubTable(t, filepath.Join(dir, "data", "train-00001-of-00003.parquet"), 20)
	_, _, errs = converted(t, flags...)
	notContains(t, errs, "is missing")
}
