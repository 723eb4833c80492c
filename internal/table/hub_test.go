package table

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/sftseq/sftseq/internal/must"
)

// hubFile returns a Parquet file with class names in the metadata of Hugging Face's datasets
// library.
func hubFile(t *testing.T, features string, labels ...int64) string {
	t.Helper()
	metadata := arrow.NewMetadata([]string{"huggingface"}, []string{features})
	schema := arrow.NewSchema([]arrow.Field{{Name: "text", Type: arrow.BinaryTypes.String},
		{Name: "label", Type: arrow.PrimitiveTypes.Int64},
		{Name: "tags", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64)}}, &metadata)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for _, label := range labels {
		b.Field(0).(*array.StringBuilder).Append("a b")
		b.Field(1).(*array.Int64Builder).Append(label)
		tags := b.Field(2).(*array.ListBuilder)
		tags.Append(true)
		tags.ValueBuilder().(*array.Int64Builder).AppendValues([]int64{1, 0, -1}, nil)
	}
	var out bytes.Buffer
	w := must.Get(pqarrow.NewFileWriter(schema, &out, nil, pqarrow.DefaultWriterProps()))(t)
	must.Succeed(t, errors.Join(w.Write(b.NewRecord()), w.Close()))
	return out.String()
}

const hubFeatures = `{"info":{"features":{"text":{"dtype":"string","_type":"Value"},
	"label":{"names":["neg","pos"],"_type":"ClassLabel"},
	"tags":{"feature":{"names":["O","B-PER"],"_type":"ClassLabel"},"_type":"Sequence"}}}}`

// TestClassesOfParquet checks that class names in the metadata key huggingface of Parquet replace
// class numbers. A number without a name is an error of its row. Malformed metadata, and names of columns that
// are not integers or not of the type ClassLabel, are ignored.
func TestClassesOfParquet(t *testing.T) {
	path := writeFile(t, "x.parquet", hubFile(t, hubFeatures, 1, 0, -1, 2))
	columns := []string{"label", "tags", "text"}
	got := must.Get(readText(path, Options{Columns: columns, Copied: []string{"tags"}, Typed: columns}))(t)
	tags := `["B-PER","O",null]`
	want := "1: pos|" + tags + "|a b\n2: neg|" + tags + "|a b\n3: ∅|" + tags + "|a b\n" +
		`4! column label: expected a class from 0 to 1, an index of the names in the metadata (huggingface), found "2"`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	got = must.Get(readText(path, Options{Columns: []string{"tags"}, Lists: []string{"tags"}}))(t)
	if strings.Contains(got[0], "B-PER") { // a missing label makes all labels of the row missing
		t.Errorf("got %q, want missing labels", got)
	}
	types := must.Get(NewStoredTypes(t.Context(), []string{path}, "", columns, false))(t)
	if len(types.Fields) > 0 {
		t.Errorf("got the types %v for names, want none", types.Fields)
	}
	for _, features := range []string{"x", `{"info":{"features":{"text":{"names":["a"],"_type":"ClassLabel"}}}}`,
		`{"info":null}`, `{"info":{"features":{"label":{"names":["a"],"_type":"Value"}}}}`} {
		path := writeFile(t, "x.parquet", hubFile(t, features, 1))
		if got := must.Get(readText(path, Options{Columns: []string{"label", "text"}}))(t); got[0] != "1: 1|a b" {
			t.Errorf("%s: got %q, want class numbers", features, got)
		}
	}
}

// TestHubSplits checks that only folders laid out as on the Hub, whose tables all name a split,
// have splits.
func TestHubSplits(t *testing.T) {
	for want, files := range map[string][]string{
		"test train":       {"README.md", "data/test-00000-of-00001.parquet", "data/train-0.parquet"},
		"train validation": {"README.md", "train.csv", "validation.csv"},
		"test train extra": {"train-00000-of-00001.csv", "test-00000-of-00001.csv", "extra-00000-of-00001.csv"},
		"test Training":    {"Training/0.parquet", "test/0.parquet"},
		"dev train":        {"README.md", "default/train/0.jsonl", "default/dev/0.jsonl", "LICENSE"},
	} {
		all := map[string]string{}
		for _, name := range files {
			all[name] = "x"
		}
		if got := Splits(writeFolder(t, all), ""); !sameNames(got, want) {
			t.Errorf("%q: got %q, want %s", files, got, want)
		}
	}
	for _, files := range [][]string{{"train.csv", "test.csv"}, {"README.md", "train.csv"},
		{"README.md", "train.csv", "test.csv", "more.csv"}, {"README.md", "test.csv", "validation.csv"},
		{"train-0.parquet", "test-0.parquet"}, {"README.md", "train/a.txt", "test/b.txt"}} {
		all := map[string]string{}
		for _, name := range files {
			all[name] = "x"
		}
		if got := HubSplits(writeFolder(t, all), ""); got != nil {
			t.Errorf("%q: got %q, want nil", files, got)
		}
	}
}

// TestHubSplitsBesideCard checks that a folder data has splits if the README.md next to it is a dataset card.
// A README.md without YAML is not a card.
func TestHubSplitsBesideCard(t *testing.T) {
	for card, want := range map[string]string{"---\nlicense: mit\n---\n# Reviews\n": "test train", "# A project\n": ""} {
		dir := writeFolder(t, map[string]string{"README.md": card, "data/train-0.parquet": "x",
			"data/test-0.parquet": "x"})
		if got := HubSplits(filepath.Join(dir, "data"), ""); !sameNames(got, want) {
			t.Errorf("%q: got %q, want %q", card, got, want)
		}
	}
}

// sameNames reports whether the names are the words of want, in any order.
func sameNames(names []string, want string) bool {
	words := strings.Fields(want)
	if len(names) != len(words) {
		return false
	}
	for _, word := range words {
		if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+word+" ") {
			return false
		}
	}
	return true
}
