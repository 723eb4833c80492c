package convert

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/sftseq/sftseq/seq"
)

// Column types that other programs use for graphs.
var (
	singles  = arrow.ListOf(arrow.ListOf(arrow.PrimitiveTypes.Float32))
	doubles  = arrow.ListOf(arrow.ListOf(arrow.PrimitiveTypes.Float64))
	integers = arrow.ListOf(arrow.ListOf(arrow.PrimitiveTypes.Int64))
	endPairs = arrow.ListOf(arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int32))
	text     = arrow.BinaryTypes.String
	texts    = arrow.ListOf(arrow.BinaryTypes.String)
)

// columns returns the fields of a schema from alternating names and types.
func columns(pairs ...any) (fields []arrow.Field) {
	for i := 0; i < len(pairs); i += 2 {
		fields = append(fields, arrow.Field{Name: pairs[i].(string), Type: pairs[i+1].(arrow.DataType), Nullable: true})
	}
	return fields
}

// writeTables writes rows as an Arrow file, an Arrow stream and a Parquet file, and returns their
// paths.
func writeTables(t testing.TB, schema *arrow.Schema, rows string) (paths []string) {
	t.Helper()
	record, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader("["+rows+"]"))
	if err != nil {
		t.Fatal(err)
	}
	var stream bytes.Buffer
	w := ipc.NewWriter(&stream, ipc.WithSchema(schema))
	if err := errors.Join(w.Write(record), w.Close()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	paths = []string{filepath.Join(dir, "graphs.arrow"), filepath.Join(dir, "stream.arrow"),
		filepath.Join(dir, "graphs.parquet")}
	if err := os.WriteFile(paths[1], stream.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	file, err := ipc.NewFileWriter(f, ipc.WithSchema(schema))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(file.Write(record), file.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	p, err := os.Create(paths[2])
	if err != nil {
		t.Fatal(err)
	}
	out, err := pqarrow.NewFileWriter(schema, p, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range schema.Metadata().ToMap() {
		if err := out.AppendKeyValueMetadata(key, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(out.Write(record), out.Close()); err != nil {
		t.Fatal(err)
	}
	return paths
}

// TestTables checks that graphs read from tables equal graphs read from JSON lines, including ids and
// the names of features, labels and numbers.
func TestTables(t *testing.T) {
	for _, c := range []struct {
		lines, rows string
		columns     []arrow.Field
		change      func(*GraphOptions)
	}{
		{`{"id":"g","features":[[1,0.5]],"edges":[[0,0,0.5]],"label":"b"}
{"id":"h","features":[[2,1],[3,1]],"edges":[],"label":"a"}`,
			`{"id":"g","features":[[1,0.5]],"edges":[[0,0]],"edge_features":[[0.5]],"label":"b","other":"x"},
{"id":"h","features":[[2,1],[3,1]],"edges":[],"edge_features":[],"label":"a"}`,
			columns("id", text, "features", singles, "edges", endPairs, "edge_features", singles, "label", text,
				"other", text), func(*GraphOptions) {}},
		{`{"features":[[1],[7]],"edges":[[0,1],[1,0]],"label":10,"part":"test"}
{"features":[[2]],"edges":[],"label":9,"part":"train"}`,
			`{"features":[[1],[7]],"edges":[[0,1],[1,0]],"label":10,"part":"test"}, {"features":[[2]],"edges":[],"label":9,"part":"train"}`,
			columns("features", integers, "edges", integers, "label", arrow.PrimitiveTypes.Int64, "part", text),
			func(o *GraphOptions) { o.SplitField = "part" }},
		{`{"features":[[1]],"edges":[[0,0]],"label":["b","a","b"]}
{"features":[[2]],"edges":[],"label":[]}`,
			`{"features":[[1]],"edges":[[0,0]],"label":["b","a","b"],"tags":null}, {"features":[[2]],"edges":[],"label":[]}`,
			columns("features", doubles, "edges", endPairs, "label", texts, "tags", texts), func(*GraphOptions) {}},
		{`{"features":[[1],[2]],"edges":[[0,1]],"kinds":["C",null],"label":null}
{"features":[[3]],"edges":[],"kinds":["N"]}`,
			`{"features":[[1],[2]],"edges":[[0,1]],"kinds":["C",null],"label":null}, {"features":[[3]],"edges":[],"kinds":["N"]}`,
			columns("features", singles, "edges", endPairs, "kinds", texts, "label", text),
			func(o *GraphOptions) { o.Tags = "kinds" }},
		{`{"features":[[1]],"edges":[],"b":2.5,"a":-1}
{"features":[[1],[0]],"edges":[[1,0],[0,1]],"b":2.5,"a":-1}`,
			`{"features":[[1]],"edges":[],"b":2.5,"a":-1}, {"features":[[1],[0]],"edges":[[1,0],[0,1]],"b":2.5,"a":-1}`,
			columns("features", singles, "edges", endPairs, "a", arrow.PrimitiveTypes.Int32, "b",
				arrow.PrimitiveTypes.Float64),
			func(o *GraphOptions) { o.Numbers, o.RandomWalk, o.EdgeFeatureNames = []string{"a", "b"}, 2, []string{} }},
	} {
		convert := func(path string) *seq.Dataset {
			o := graphOptions(path)
			c.change(&o)
			d, err := ConvertGraphs(t.Context(), filepath.Join(t.TempDir(), "data"), o)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			return d
		}
		want := convert(writeLines(t, c.lines))
		for _, path := range writeTables(t, arrow.NewSchema(c.columns, nil), c.rows) {
			got := convert(path)
			a, b := got.Spec(), want.Spec()
			a.Name, b.Name = "", ""
			if fmt.Sprint(a) != fmt.Sprint(b) {
				t.Errorf("%s: got %+v, want %+v", path, a, b)
			}
			for split := range want.Manifest.Splits {
				if x, y := rowsAndIDs(t, got, split), rowsAndIDs(t, want, split); x != y {
					t.Errorf("%s: %s\n%s\nwant\n%s", path, split, x, y)
				}
			}
		}
	}
}

// rowsAndIDs returns the rows of a split as text, including their ids.
func rowsAndIDs(t *testing.T, d *seq.Dataset, split string) string {
	t.Helper()
	r, err := d.Reader(split)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out := rowTexts(t, d, split)
	for {
		rows, err := r.Next()
		if err == io.EOF {
			return strings.Join(out, "\n")
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows.Len() {
			out = append(out, rows.ID(i))
		}
	}
}

// TestTableNames checks that features are named by the options, or otherwise by the metadata of the
// first table, and that numeric labels are indices into the label names of the metadata.
func TestTableNames(t *testing.T) {
	metadata := arrow.NewMetadata([]string{seq.KeyFeatureNames, seq.KeyEdgeFeatureNames},
		[]string{`["mass"]`, `["order"]`})
	schema := arrow.NewSchema(columns("features", singles, "edges", endPairs, "edge_features", singles, "label", text),
		&metadata)
	for _, path := range writeTables(t, schema, `{"features":[[1]],"edges":[],"edge_features":[],"label":"a"}`) {
		for _, names := range [][]string{nil, {"x"}} {
			o := graphOptions(path)
			o.FeatureNames = names
			d, err := ConvertGraphs(t.Context(), filepath.Join(t.TempDir(), "data"), o)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			want := "[mass] [order]"
			if names != nil {
				want = "[x] [order]"
			}
			if s := d.Spec(); fmt.Sprint(s.FeatureNames, s.EdgeFeatureNames) != want {
				t.Errorf("%s: %q %q, want %s", path, s.FeatureNames, s.EdgeFeatureNames, want)
			}
		}
	}
	labelled := arrow.NewMetadata([]string{seq.KeyLabelNames}, []string{`["z","y"]`})
	numbered := arrow.NewSchema(columns("features", singles, "edges", endPairs, "label", arrow.PrimitiveTypes.Int32),
		&labelled)
	for _, path := range writeTables(t, numbered, `{"features":[[1]],"edges":[],"label":1}`) {
		d, err := ConvertGraphs(t.Context(), filepath.Join(t.TempDir(), "data"), graphOptions(path))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if got := fmt.Sprint(d.Manifest.LabelNames, rowTexts(t, d, "train")); got != "[z y] [[[1]] [] 1 [] []]" {
			t.Errorf("labels named in the metadata: got %s, want label 1 of z and y", got)
		}
	}
	const want = `:2: label: found 2, expected an index from 0 to 1 into "z", "y" (label_names in the metadata)`
	for _, path := range writeTables(t, numbered,
		`{"features":[[1]],"edges":[],"label":0}, {"features":[[1]],"edges":[],"label":2}`) {
		if _, err := ConvertGraphs(t.Context(), filepath.Join(t.TempDir(), "data"), graphOptions(path)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one with %s", path, err, want)
		}
	}
	bare := arrow.NewSchema(columns("features", singles, "edges", endPairs, "label", text), nil)
	for _, path := range writeTables(t, bare,
		`{"features":[[1]],"edges":[],"label":"a"}, {"features":[[1],[2]],"edges":[[0,1]],"label":"b"}`) {
		if _, err := ConvertGraphs(t.Context(), filepath.Join(t.TempDir(), "data"), graphOptions(path)); err != nil {
			t.Errorf("edges without features, no edge in the first graph: %v", err)
		}
	}
	broken := arrow.NewMetadata([]string{seq.KeyFeatureNames}, []string{`{}`})
	path := writeTables(t, arrow.NewSchema(schema.Fields(), &broken),
		`{"features":[[1]],"edges":[],"edge_features":[],"label":"a"}`)[0]
	if _, err := ConvertGraphs(t.Context(), filepath.Join(t.TempDir(), "data"), graphOptions(path)); err == nil ||
		!strings.Contains(err.Error(), "graphs.arrow: feature_names: expected a JSON list of strings, found \"{}\"") {
		t.Errorf("feature names that are not a list: got error %v, want one on feature_names in graphs.arrow", err)
	}
}

// TestInvalidTables checks that errors name the file and the row, and that no data set remains.
func TestInvalidTables(t *testing.T) {
	usualColumns := columns("features", doubles, "edges", integers, "edge_features", doubles,
		"label", text, "tags", texts)
	listed := columns("features", doubles, "edges", integers, "edge_features", doubles, "label", texts)
	const good = `{"features":[[1,2]],"edges":[[0,0]],"edge_features":[[3]],"label":"a"}, `
	for _, c := range []struct {
		columns   []arrow.Field
		row, want string
	}{
		{usualColumns, `{"features":[[1,2]],"edges":[[0,1]],"edge_features":[[3]],"label":"a"}`,
			":2: column edges: index 0, target: expected a node from 0 to 0, found 1"},
		{usualColumns, `{"features":[[1,2]],"edges":[[0,-1]],"edge_features":[[3]],"label":"a"}`,
			":2: column edges: index 0, target: expected a node from 0 to 0, found -1"},
		{usualColumns, `{"features":[[1,2]],"edges":[[0,0]],"edge_features":[[]],"label":"a"}`,
			":2: column edges: index 0: expected 1 features of the edge, found 0"},
		{usualColumns, `{"features":[[1,2]],"edges":[[0,0]],"edge_features":[],"label":"a"}`,
			":2: edge_features: expected features of 1 edges, found features of 0"},
		{usualColumns, `{"features":[[1,2]],"edges":[[0,0]],"label":"a"}`,
			":2: edge_features: expected features of 1 edges, found features of 0"},
		{usualColumns, `{"features":[[1]],"edges":[],"edge_features":[],"label":"a"}`,
			":2: column features: index 0: expected 2 numbers, found 1"},
		{usualColumns, `{"features":[],"edges":[],"edge_features":[],"label":"a"}`,
			":2: column features: expected at least one token"},
		{usualColumns, `{"features":[[1,null]],"edges":[],"edge_features":[],"label":"a"}`,
			":2: column features: index 0: number 1: expected a number, found null"},
		{usualColumns, `{"features":[[1,1e99]],"edges":[],"edge_features":[],"label":"a"}`,
			":2: column features: index 0: number 1: expected a finite float32"},
		{usualColumns, `{"features":[[1,2]],"edges":[[0,0]],"edge_features":[[1e99]],"label":"a"}`,
			":2: column edge_features: index 0: number 0: expected a finite float32"},
		{usualColumns, `{"features":[[1,2]],"edges":[[0,5000000000]],"edge_features":[[1]],"label":"a"}`,
			":2: column edges: edge 0: target: expected a token's index, an integer from 0, found 5000000000"},
		{usualColumns, `{"features":[[1,2]],"edges":[[null,0]],"edge_features":[[1]],"label":"a"}`,
			":2: column edges: edge 0: source: expected a token's index, an integer from 0, found (null)"},
		{usualColumns, `{"features":[[1,2]],"edges":[[0,0],[0]],"edge_features":[[1],[1]],"label":"a"}`,
			":2: column edges: edge 1: expected a list of source and target, found a list of length 1"},
		{usualColumns, `{"features":[[1,2]],"edges":[[0,0],null],"edge_features":[[1],[1]],"label":"a"}`,
			":2: column edges: edge 1: expected a list of source and target, found null"},
		{usualColumns, `{"features":[[1,2]],"label":"a"}`, ":2: expected edges"},
		{usualColumns, `{"edges":[],"label":"a"}`, ":2: expected features"},
		{usualColumns, `{"features":[[1,2]],"edges":[],"edge_features":[]}`,
			":2: expected label (a class or a list of labels) or tags"},
		{usualColumns, `{"features":[[1,2]],"edges":[],"edge_features":[],"label":""}`,
			":2: label: expected a string, a number or a boolean, found an empty string"},
		{usualColumns, `{"features":[[1,2]],"edges":[],"edge_features":[],"tags":["a"]}`,
			":2: expected label (a class), as in the first graph, found tags (a list)"},
		{usualColumns, `{"features":[[1,2]],"edges":[],"edge_features":[],"tags":["a","b"]}`,
			":2: tags: expected a list of 1, one for each node, found 2"},
		{usualColumns, `{"features":[[1,2]],"edges":[],"edge_features":[],"label":"a","tags":["a"]}`,
			":2: found both label and tags"},
		{listed, `{"features":[[1,2]],"edges":[],"edge_features":[],"label":["a",null]}`,
			":2: column label: index 1: expected a value, found null"},
		{columns("features", doubles, "edges", integers, "tags", text), `{"features":[[1,2]],"edges":[],"tags":"a"}`,
			":1: tags: expected a list, found a"},
		{columns("features", doubles, "edges", doubles, "label", text), `{"features":[[1,2]],"edges":[],"label":"a"}`,
			`: column "edges": expected lists of [source, target] with whole numbers, found list<`},
		{columns("features", text, "edges", integers, "label", text), `{"features":"1","edges":[],"label":"a"}`,
			`: column "features": expected lists of lists of numbers, one inner list per token, found utf8`},
		{columns("features", doubles, "label", text), `{"features":[[1,2]],"label":"a"}`,
			`: column "edges": expected one of "features", "label"`},
		{columns("features", doubles, "edges", integers), `{"features":[[1,2]],"edges":[]}`,
			":1: expected label (a class or a list of labels) or tags"},
	} {
		rows := c.row
		if strings.HasPrefix(c.want, ":2") {
			rows = good + rows
			if c.columns[3].Type == texts {
				rows = strings.Replace(rows, `"label":"a"`, `"label":["a"]`, 1)
			}
		}
		for _, path := range writeTables(t, arrow.NewSchema(c.columns, nil), rows) {
			dir := filepath.Join(t.TempDir(), "data")
			_, err := ConvertGraphs(t.Context(), dir, graphOptions(path))
			if err == nil || !strings.Contains(err.Error(), filepath.Base(path)+c.want) {
				t.Errorf("%s: got %v, want %s", c.row, err, c.want)
			}
			if _, err := os.Stat(filepath.Join(dir, seq.ManifestName)); err == nil {
				t.Errorf("%s: a data set remains after the error", c.row)
			}
		}
	}
	o := graphOptions(writeTables(t, arrow.NewSchema(columns("features", doubles, "edges", integers, "a", text), nil),
		`{"features":[[1,2]],"edges":[],"a":"much"}`)...)
	o.Numbers = []string{"a"}
	const want = `graphs.arrow:1: no finite number: column a: found "much"`
	if _, err := ConvertGraphs(t.Context(), filepath.Join(t.TempDir(), "data"), o); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("a word as a number: got error %v, want one with %s", err, want)
	}
}

// FuzzTables checks that every data set converted from Arrow can be opened.
func FuzzTables(f *testing.F) {
	for _, c := range [][]arrow.Field{
		columns("features", singles, "edges", endPairs, "edge_features", singles, "label", text, "tags", texts),
		columns("features", integers, "edges", integers, "edge_features", doubles, "label", texts, "tags", texts),
	} {
		rows := `{"features":[[1],[2]],"edges":[[0,1]],"edge_features":[[3]],"tags":["C",null]}, {"features":[[1]],"edges":[],"edge_features":[],"tags":["N"]}`
		for _, path := range writeTables(f, arrow.NewSchema(c, nil), rows)[:2] {
			file, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(file)
		}
	}
	fuzzConvert(f, "graphs.arrow")
}

// TestTableOfDataSet checks that converting the files of a data set produces an equal data set, even
// if label names are numbers or some tokens have no label.
func TestTableOfDataSet(t *testing.T) {
	for _, c := range []struct {
		lines string
		tags  string
	}{
		{`{"features":[[1]],"edges":[[0,0]],"label":1} {"features":[[2]],"edges":[],"label":2} {"features":[[3]],"edges":[],"label":3}`, "tags"},
		{`{"features":[[1]],"edges":[[0,0]],"label":[1,3]} {"features":[[2]],"edges":[],"label":[2]}`, "tags"},
		{`{"features":[[1],[2]],"edges":[[0,1]],"tags":["2",null]} {"features":[[3]],"edges":[],"tags":["1"]}`,
			seq.ColumnLabel},
	} {
		path := filepath.Join(t.TempDir(), "graphs.jsonl")
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(c.lines, "} {", "}\n{")), 0o666); err != nil {
			t.Fatal(err)
		}
		convert := func(path, tags string) (string, string) {
			o := graphOptions(path)
			o.Tags = tags
			dir := filepath.Join(t.TempDir(), "data")
			d, err := ConvertGraphs(t.Context(), dir, o)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			return filepath.Join(dir, "train.arrow"), fmt.Sprint(d.Manifest.LabelNames, rowTexts(t, d, "train"))
		}
		file, want := convert(path, "tags")
		if _, got := convert(file, c.tags); got != want {
			t.Errorf("%s\nconverted again %s\nwant %s", c.lines, got, want)
		}
	}
}

// TestDifferentFeatureNames checks that tables with different feature names are an error, which lists
// both, unless the options name the features.
func TestDifferentFeatureNames(t *testing.T) {
	file := func(names, row string) string {
		m := arrow.NewMetadata([]string{seq.KeyFeatureNames}, []string{names})
		return writeTables(t, arrow.NewSchema(columns("features", singles, "edges", endPairs, "label", text), &m),
			row)[0]
	}
	a := file(`["mass","charge"]`, `{"features":[[1,2]],"edges":[],"label":"a"}`)
	b := file(`["charge","mass"]`, `{"features":[[2,1]],"edges":[],"label":"b"}`)
	o := graphOptions(a)
	o.From = append(o.From, b)
	want := b + `: feature_names: expected "mass", "charge" as in ` + a + `, found "charge", "mass"`
	if _, err := ConvertGraphs(t.Context(), filepath.Join(t.TempDir(), "data"), o); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	o.FeatureNames = []string{"x", "y"}
	if _, err := ConvertGraphs(t.Context(), filepath.Join(t.TempDir(), "data"), o); err != nil {
		t.Error(err)
	}
}

// TestNullColumn checks that a label column of type null is ignored.
func TestNullColumn(t *testing.T) {
	schema := arrow.NewSchema(columns("features", singles, "edges", endPairs, "label", arrow.Null, "tags", texts), nil)
	path := writeTables(t, schema, `{"features":[[1]],"edges":[],"tags":["a"]}`)[0]
	d, err := ConvertGraphs(t.Context(), filepath.Join(t.TempDir(), "data"), graphOptions(path))
	if err != nil {
		t.Fatal(err)
	}
	if got := rowTexts(t, d, "train"); d.Manifest.Task != seq.Tagging || fmt.Sprint(got) != "[[[1]] [] -1 [0] []]" {
		t.Errorf("got task %s and rows %s, want %s and [[[1]] [] -1 [0] []]", d.Manifest.Task, got, seq.Tagging)
	}
}
