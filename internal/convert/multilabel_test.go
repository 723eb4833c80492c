package convert

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// rowLabels returns the labels of each row of the train split, joined by spaces.
func rowLabels(t *testing.T, d *seq.Dataset) (rows []string) {
	t.Helper()
	f := must.Get(d.Open("train"))(t)
	defer f.Close()
	for i := range f.Len() {
		e := must.Get(f.Example(i))(t)
		if e.Labels == nil {
			t.Fatalf("row %d has no list of labels", i)
		}
		var names []string
		for _, label := range e.Labels {
			names = append(names, d.Manifest.LabelNames[label])
		}
		rows = append(rows, strings.Join(names, " "))
	}
	return rows
}

// writeLists writes a table of texts and lists of labels as Arrow and as Parquet, and returns the
// paths.
func writeLists(t *testing.T) (asArrow, asParquet string) {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "text", Type: arrow.BinaryTypes.String},
		{Name: "label", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	list := b.Field(1).(*array.ListBuilder)
	for i, labels := range [][]string{{"y", "x"}, {}, nil, {"z"}} {
		b.Field(0).(*array.StringBuilder).Append(strings.Repeat("a", 1+i))
		if list.Append(labels != nil); labels != nil {
			list.ValueBuilder().(*array.StringBuilder).AppendValues(labels, nil)
		}
	}
	record := b.NewRecord()
	defer record.Release()
	var stream, file bytes.Buffer
	w := ipc.NewWriter(&stream, ipc.WithSchema(schema))
	must.Succeed(t, w.Write(record))
	must.Succeed(t, w.Close())
	p := must.Get(pqarrow.NewFileWriter(schema, &file, nil, pqarrow.DefaultWriterProps()))(t)
	must.Succeed(t, p.Write(record))
	must.Succeed(t, p.Close())
	asArrow, asParquet = filepath.Join(t.TempDir(), "x.arrow"), filepath.Join(t.TempDir(), "x.parquet")
	for path, text := range map[string][]byte{asArrow: stream.Bytes(), asParquet: file.Bytes()} {
		must.Succeed(t, os.WriteFile(path, text, 0o666))
	}
	return asArrow, asParquet
}

// TestMultiLabel checks that lists, labels with a separator, and a column of 0 and 1 for each label
// produce rows with the same labels. A row may have an empty list of labels, but not a missing list or
// an unknown label.
func TestMultiLabel(t *testing.T) {
	asArrow, asParquet := writeLists(t)
	for name, set := range map[string]struct {
		from   string
		change func(o *Options)
		report string
	}{
		"JSON": {writeFile(t, "x.jsonl",
			`{"text":"a"}`+"\n"+`{"text":"b","label":["y","x","y"]}`+"\n"+`{"text":"c","label":[]}`+"\n"+
				`{"text":"d","label":null}`+"\n"+`{"text":"e","label":"z"}`+"\n"), nil,
			"2 of 5 rows left out: no label"},
		"Arrow":   {asArrow, nil, "1 of 4 rows left out: no label"},
		"Parquet": {asParquet, nil, "1 of 4 rows left out: no label"},
		"separator": {writeFile(t, "x.csv", "text,label\na,y; x;\nb,\nc,z\n"),
			func(o *Options) { o.LabelSeparator = ";" }, ""},
		"columns": {writeFile(t, "y.csv", "text,x,y,z\na,1,True,0\nb,0,0.0,false\nc,,1,1\nd,0,0,1\ne,0,2,0\n"),
			func(o *Options) { o.Label, o.LabelColumns = "", []string{"x", "y", "z"} },
			"1 of 5 rows left out: neither 0 nor 1"},
	} {
		o := textOptions(t, set.from)
		if set.change != nil {
			set.change(&o)
		}
		o.head = 1 // write the first rows before all labels are known
		d, skipped := mustConvert(t, o)
		if got := rowLabels(t, d); d.Manifest.Task != seq.MultiLabel || !slices.Equal(got, []string{"x y", "", "z"}) {
			t.Errorf("%s: got task %s and labels %q, want multi-label rows x y, none and z", name, d.Manifest.Task, got)
		}
		if !slices.Equal(d.Manifest.LabelNames, []string{"x", "y", "z"}) {
			t.Errorf("%s: got label names %q, want x, y and z", name, d.Manifest.LabelNames)
		}
		if !strings.Contains(skipped.String(), set.report) {
			t.Errorf("%s: got %s, want %s", name, skipped, set.report)
		}
	}
	o := textOptions(t, writeFile(t, "x.csv", "text,label\na,x;w\nb,x\n"))
	o.LabelSeparator, o.Labels, o.Strict = ";", []string{"x", "y"}, true
	must.Fail(t, `x.csv:2: the label is not in --labels: expected one of x, y, found "w"`)(Convert(context.Background(), o))
	for _, list := range []string{`["x",null]`, `[["x"]]`, `[{"x":1}]`} {
		_, skipped := mustConvert(t,
			textOptions(t, writeFile(t, "x.jsonl",
				`{"text":"a","label":["x"]}`+"\n"+`{"text":"b","label":`+list+"}\n")))
		if !strings.Contains(skipped.String(), "1 of 2 rows left out: the row cannot be read") ||
			!strings.Contains(skipped.String(), "x.jsonl:2") {
			t.Errorf("%s: got report %s, want row 2 left out as unreadable", list, skipped)
		}
	}
}

// TestInvalidLabelLists checks that a row is left out if its list of labels contains an empty label
// or is a multi-hot vector.
func TestInvalidLabelLists(t *testing.T) {
	for list, want := range map[string]string{
		`["x",""]`:           `an empty label in a list`,
		`["x"," "]`:          `an empty label in a list`,
		`[1,0,0]`:            `a list of 0 or 1 for each label`,
		`[true,false,false]`: `a list of 0 or 1 for each label`,
	} {
		from := writeLines(t, `{"text":"a","label":["x","y"]}`+"\n"+`{"text":"b","label":`+list+"}\n")
		_, skipped, err := Convert(t.Context(), Options{From: []string{from}, To: filepath.Join(t.TempDir(), "d"),
			Text: "text", Label: "label",
			Tokenizer: []byte(`{"type":"byte"}`), SplitFractions: []SplitFraction{{Split: "train", Fraction: 1}}})
		must.Succeed(t, err)
		if k := skipped.Reasons[want]; k == nil || k.Rows != 1 ||
			!strings.HasPrefix(k.Places[0], from+":2: column label: ") {
			t.Errorf("%s: got %s, want %s", list, skipped, want)
		}
	}
}
