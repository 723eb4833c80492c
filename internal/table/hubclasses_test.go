package table

import (
	"bytes"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

const classCard = "---\ndataset_info:\n  features:\n  - name: text\n    dtype: string\n  - name: label\n    dtype:\n" +
	"      class_label:\n        names:\n          '1': pos\n          '0': neg\n  - name: tags\n    sequence:\n" +
	"      class_label:\n        names: [O, B-PER]\n---\n"

// arrowLabels returns an Arrow stream with a column of labels.
func arrowLabels(t *testing.T, labels ...int64) string {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "label", Type: arrow.PrimitiveTypes.Int64}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	b.Field(0).(*array.Int64Builder).AppendValues(labels, nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	must.Succeed(t, errors.Join(w.Write(b.NewRecord()), w.Close()))
	return out.String()
}

// TestClassesOfCard checks that a card's class names replace the class numbers of tables one or two
// folders below, unless the table's metadata has class names. The tables are CSV, TSV, JSON, JSON lines,
// Arrow and Parquet.
func TestClassesOfCard(t *testing.T) {
	const wrong = `! column label: expected a class from 0 to 1, an index of the names in CARD, found "2"`
	const types = `{"info":{"features":{"label":{"names":["a","b","c"],"_type":"ClassLabel"}}}}`
	dir := writeFolder(t, map[string]string{
		"README.md":           classCard,
		"a/train.csv":         "text,label\nx,1\ny,\nz,neg\nw,-1\nv,2\nu,1.0\n",
		"b/train.jsonl":       `{"label":0,"tags":[1,0]}` + "\n" + `{"label":"pos","tags":["O","B-PER"]}` + "\n",
		"c/one/train.parquet": hubFile(t, "not JSON", 1, 2),
		"d/train.parquet":     hubFile(t, types, 2),
		"e/train.arrow":       arrowLabels(t, 1, 2),
		"f/one/two/train.csv": "label\n1\n",
		"g/README.md":         "---\nlicense: mit\n---\n",
		"g/train.csv":         "label\n1\n",
		"h/README.md":         "about the tables\n",
		"h/train.csv":         "label\n1\n",
		"i/train.tsv":         "label\n0\n",
		"j/train.json":        `[{"label": 1}]`,
		"k/train.jsonl":       `{"tags":[0,-1],"label":1}` + "\n" + `{"tags":["O","X"],"label":true}` + "\n",
	})
	for file, want := range map[string]string{
		"a/train.csv": "2: pos\n3: \n4: neg\n5: ∅\n6" + wrong + "\n7" +
			strings.Replace(wrong, `"2"`, `"1.0"`, 1),
		"b/train.jsonl":       "1: neg\n2: pos",
		"c/one/train.parquet": "1: pos\n2" + wrong,
		"d/train.parquet":     "1: c",
		"e/train.arrow":       "1: pos\n2" + wrong,
		"f/one/two/train.csv": "2: 1",
		"g/train.csv":         "2: 1",
		"h/train.csv":         "2: 1",
		"i/train.tsv":         "2: neg",
		"j/train.json":        "1: pos",
	} {
		path := filepath.Join(dir, filepath.FromSlash(file))
		got := must.Get(readText(path, Options{Columns: []string{"label"}}))(t)
		want = strings.ReplaceAll(want, "CARD", filepath.Join(dir, "README.md"))
		if strings.Join(got, "\n") != want {
			t.Errorf("%s: got\n%s\nwant\n%s", file, strings.Join(got, "\n"), want)
		}
	}
	lists := Options{Columns: []string{"tags", "label"}, Lists: []string{"tags"}}
	for file, want := range map[string]string{"b/train.jsonl": "1: [B-PER O]|neg\n2: [O B-PER]|pos",
		"c/one/train.parquet": "1: ∅|pos\n2" + strings.ReplaceAll(wrong, "CARD", filepath.Join(dir, "README.md"))} {
		got := must.Get(readText(filepath.Join(dir, filepath.FromSlash(file)), lists))(t)
		if strings.Join(got, "\n") != want {
			t.Errorf("%s: got\n%s\nwant\n%s", file, strings.Join(got, "\n"), want)
		}
	}
	onlyTags := Options{Columns: []string{"tags"}, Lists: []string{"tags"}}
	if got := must.Get(readText(filepath.Join(dir, "b", "train.jsonl"), onlyTags))(t); got[0] != "1: [B-PER O]" {
		t.Errorf("only lists are read: got %q, want the first row 1: [B-PER O]", got)
	}
	odd := filepath.Join(dir, "k", "train.jsonl")
	got := must.Get(readText(odd, Options{Columns: []string{"tags"}, Lists: []string{"tags"}}))(t)
	if got[0] != "1: ∅" || !strings.HasPrefix(got[1], "2! column tags: expected classes from 0 to 1, indices of ") {
		t.Errorf("got %q, want a missing list and an error", got)
	}
	got = must.Get(readText(odd, Options{Columns: []string{"tags"}, Copied: []string{"tags"}}))(t)
	if strings.Join(got, "\n") != `1: ["O",null]`+"\n"+`2: ["O","X"]` {
		t.Errorf(`got the copied lists %q, want ["O",null] and ["O","X"]`, got)
	}
	t.Chdir(filepath.Join(dir, "i"))
	if got := must.Get(readText("train.tsv", Options{Columns: []string{"label"}}))(t); got[0] != "2: neg" {
		t.Errorf("got %q for a relative path, want neg", got)
	}
	part := must.Get(OpenPart(t.Context(), Part{filepath.Join(dir, "b", "train.jsonl"), "jsonl", 1, math.MaxInt64},
		Options{Columns: []string{"label"}}))(t)
	defer part.Close()
	var row Row
	if must.Succeed(t, part.Next(&row)); row.Values[0].Text != "pos" {
		t.Errorf("got label %q in a part, want pos", row.Values[0].Text)
	}
}

// TestNumericClassNames checks that a number is a class number even if it is also the name of a class,
// and that a string in JSON is a class name.
func TestNumericClassNames(t *testing.T) {
	dir := writeFolder(t, map[string]string{"README.md": "---\ndataset_info:\n  features:\n  - name: stars\n" +
		"    dtype:\n      class_label:\n        names: ['1', '2', '3']\n  - name: tags\n    list:\n" +
		"      class_label:\n        names: ['1', '2']\n---\n",
		"x.csv":   "stars\n0\n1\n2\n-1\n",
		"x.jsonl": `{"stars":0,"tags":[0,1]}` + "\n" + `{"stars":"1","tags":["1"]}` + "\n" + `{"stars":2,"tags":[1]}` + "\n"})
	for name, want := range map[string]string{"x.csv": "2: 1 3: 2 4: 3 5: ∅", "x.jsonl": "1: 1 2: 1 3: 3"} {
		got := must.Get(readText(filepath.Join(dir, name), Options{Columns: []string{"stars"}}))(t)
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, want %s", name, got, want)
		}
	}
	lists := Options{Columns: []string{"tags"}, Lists: []string{"tags"}}
	got := must.Get(readText(filepath.Join(dir, "x.jsonl"), lists))(t)
	if strings.Join(got, " ") != "1: [1 2] 2: [1] 3: [2]" {
		t.Errorf("got the lists %q, want [1 2], [1] and [2]", got)
	}
}

// TestOwnClassNames checks that a card's class names are not used if a file's metadata has label
// names.
func TestOwnClassNames(t *testing.T) {
	metadata := arrow.NewMetadata([]string{seq.KeyLabelNames}, []string{`["a","b"]`})
	schema := arrow.NewSchema([]arrow.Field{{Name: "label", Type: arrow.PrimitiveTypes.Int32}}, &metadata)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	b.Field(0).(*array.Int32Builder).Append(1)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	must.Succeed(t, errors.Join(w.Write(b.NewRecord()), w.Close()))
	dir := writeFolder(t, map[string]string{"README.md": classCard, "x.arrow": out.String()})
	got := must.Get(readText(filepath.Join(dir, "x.arrow"), Options{Columns: []string{"label"}}))(t)
	if got[0] != "1: 1" {
		t.Errorf("got %q, want the number of the class", got)
	}
}

// TestClassesOfSavedDataset checks that a card above a data set saved by Hugging Face's library does not
// replace its class names.
func TestClassesOfSavedDataset(t *testing.T) {
	dir := writeFolder(t, map[string]string{"README.md": classCard, "saved/a.arrow": arrowLabels(t, 1),
		"saved/state.json":        `{"_data_files":[{"filename":"a.arrow"}]}`,
		"saved/dataset_info.json": `{"features":{"label":{"names":["a","b"],"_type":"ClassLabel"}}}`})
	got := must.Get(readText(filepath.Join(dir, "saved"), Options{Columns: []string{"label"}}))(t)
	if strings.Join(got, " ") != "1: b" {
		t.Errorf("got %q, want the data set's own name", got)
	}
}

// TestClassesOfSplitColumn checks that a folder of JSON may have classes in a column named split.
func TestClassesOfSplitColumn(t *testing.T) {
	card := strings.ReplaceAll(classCard, "name: label", "name: split")
	dir := writeFolder(t, map[string]string{"README.md": card, "a.jsonl": `{"split":1}` + "\n",
		"b.jsonl": `{"split":0}` + "\n"})
	got := must.Get(readText(dir, Options{Columns: []string{"split"}}))(t)
	if strings.Join(got, " ") != "1: pos 1: neg" {
		t.Errorf("got %q, want the classes pos and neg", got)
	}
}

// TestClassesOfConfigs checks that a table has the class names of the configurations that contain it,
// and none for a column with several lists of names.
func TestClassesOfConfigs(t *testing.T) {
	info := func(config, names string) string {
		return "- config_name: " + config + "\n  features:\n  - name: label\n    dtype:\n      class_label:\n" +
			"        names: " + names + "\n"
	}
	for _, test := range []struct{ configs, infos, want string }{
		{"- config_name: en\n  data_files: en*\n- config_name: de\n  data_files: de*\n",
			info("en", "[a, b]") + info("de", "[c, d]"), "b d"},
		{"", info("en", "[a, b]") + info("de", "[c, d]"), "1 1"},
		{"", info("en", "[a, b]") + info("de", "[a, b]"), "b b"},
		{"- config_name: en\n  data_files: en*\n", info("en", "[a, b]"), "b 1"},
		{"", info("en", "{0: a, 2: b}"), "1 1"},
		{"", info("en", "{0: {}}"), "1 1"},
		{"", info("en", "{0: a, 1: ~}"), "1 1"},
		{"", info("en", "[a, ~, b]"), "1 1"},
		{"", info("en", "[a, [b], c]"), "1 1"},
		{"", info("en", "[]"), "1 1"},
		{"", info("en", "[0, 1]"), "1 1"},
		{"", "en\n", "1 1"},
	} {
		dir := writeFolder(t, map[string]string{"README.md": "---\nconfigs:\n" + test.configs + "dataset_info:\n" +
			test.infos + "---\n", "en.csv": "label\n1\n", "de.csv": "label\n1\n"})
		var got []string
		for _, name := range []string{"en.csv", "de.csv"} {
			rows := must.Get(readText(filepath.Join(dir, name), Options{Columns: []string{"label"}}))(t)
			got = append(got, strings.TrimPrefix(rows[0], "2: "))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%q: got %q, want %q", test.configs+test.infos, got, test.want)
		}
	}
}
