package table

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sftseq/sftseq/internal/must"
)

// readItems returns the values of the column label, read as lists.
func readItems(t *testing.T, path string) (rows []string) {
	t.Helper()
	r := must.Get(Open(context.Background(), path, Options{Columns: []string{"label"}, Lists: []string{"label"}}))(t)
	defer r.Close()
	var row Row
	for {
		err := r.Next(&row)
		if err == io.EOF {
			return rows
		}
		must.Succeed(t, err)
		switch v := row.Values[0]; {
		case row.Err != nil:
			rows = append(rows, row.Err.Error())
		case v.Items != nil:
			rows = append(rows, fmt.Sprintf("%q", v.Items))
		case v.Null:
			rows = append(rows, "none")
		default:
			rows = append(rows, v.Text)
		}
	}
}

// TestItems checks that lists of texts are read from JSON and Arrow, with class names where Hugging
// Face's datasets library has stored them.
func TestItems(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o666))
		return path
	}
	lines := `{"label":["a","b c"]}` + "\n" + `{"label":[1,true]}` + "\n" + `{"label":[]}` + "\n" + `{"label":"x"}` +
		"\n" + `{"label":null}` + "\n" + `{"label":[null]}` + "\n" + `{"label":[["a"]]}` + "\n"
	want := []string{`["a" "b c"]`, `["1" "true"]`, "[]", "x", "none",
		"column label: index 0: expected a string, a number, true or false, found null",
		`column label: index 0: expected a string, a number, true or false, found ["a"]`}
	got := readItems(t, write("x.jsonl", lines))
	for i, w := range want {
		if len(got) != len(want) || got[i] != w {
			t.Fatalf("row %d: got %q, want %q", i, got, want)
		}
	}

	stream := func(items arrow.DataType, rows string) string {
		schema := arrow.NewSchema([]arrow.Field{{Name: "label", Type: arrow.ListOf(items), Nullable: true}}, nil)
		record, _ := must.Get2(array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows)))(t)
		defer record.Release()
		var out bytes.Buffer
		w := ipc.NewWriter(&out, ipc.WithSchema(schema))
		must.Succeed(t, w.Write(record))
		must.Succeed(t, w.Close())
		return out.String()
	}
	texts := stream(arrow.BinaryTypes.String, `[{"label":["a","b"]},{"label":[]},{"label":null},{"label":["a",null]}]`)
	if got := readItems(t, write("x.arrow", texts)); !slices.Equal(got,
		[]string{`["a" "b"]`, "[]", "none", "column label: index 1: expected a value, found null"}) {
		t.Errorf("x.arrow: got %q, want [a b], [], none and an error on null", got)
	}
	numbers := stream(arrow.PrimitiveTypes.Int64, `[{"label":[1,0]},{"label":[]},{"label":[7]}]`)
	if got := readItems(t, write("y.arrow", numbers)); !slices.Equal(got, []string{`["1" "0"]`, "[]", `["7"]`}) {
		t.Errorf("y.arrow: got %q, want [1 0], [] and [7]", got)
	}
	write("hf/dataset_info.json",
		`{"features":{"label":{"feature":{"names":["neg","pos"],"_type":"ClassLabel"},"length":-1,"_type":"Sequence"}}}`)
	write("hf/state.json", `{"_data_files":[{"filename":"a.arrow"}],"_split":"train"}`)
	write("hf/a.arrow", numbers)
	if got := readItems(t, filepath.Join(dir, "hf")); !slices.Equal(got, []string{`["pos" "neg"]`, "[]", "none"}) {
		t.Errorf("got %q, want class names", got)
	}

	// A copied list has a class name or null for each item. Without Copied, items are token ids, so
	// negative numbers and null are errors.
	write("hf/a.arrow", stream(arrow.PrimitiveTypes.Int64,
		`[{"label":[1,0,-1]},{"label":[]},{"label":null},{"label":[-100,null]}]`))
	for _, c := range []struct {
		options Options
		want    []string
	}{
		{Options{Columns: []string{"label"}, Copied: []string{"label"}}, []string{`["pos","neg",null] true`, "[] true",
			"∅", "[null,null] true"}},
		{Options{Columns: []string{"label"}}, []string{"", "[] false", "∅", ""}},
	} {
		r := must.Get(Open(context.Background(), filepath.Join(dir, "hf"), c.options))(t)
		defer r.Close()
		for i, want := range c.want {
			var row Row
			must.Succeed(t, r.Next(&row))
			v, got := row.Values[0], ""
			switch {
			case row.Err != nil:
			case v.Null:
				got = "∅"
			case v.Tokens != nil:
				got = fmt.Sprint(v.Tokens, v.JSON)
			default:
				got = fmt.Sprint(v.Text, " ", v.JSON)
			}
			if got != want {
				t.Errorf("row %d: got %q (%v), want %q", i, got, row.Err, want)
			}
		}
	}
}

// TestItemsShareText checks that the limit of a list applies to the sum of its items' sizes, even
// if all items share one text.
func TestItemsShareText(t *testing.T) {
	const items = 1 << 16
	words := array.NewStringBuilder(memory.DefaultAllocator)
	words.Append(strings.Repeat("x", 1<<10))
	indices := array.NewInt8Builder(memory.DefaultAllocator)
	indices.AppendValues(make([]int8, items), nil)
	kind := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	values := array.NewDictionaryArray(kind, indices.NewArray(), words.NewArray())
	offsets := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes([]int32{0, items}))
	list := array.NewListData(array.NewData(arrow.ListOf(kind), 1, []*memory.Buffer{nil, offsets},
		[]arrow.ArrayData{values.Data()}, 0, 0))
	for limit, rejected := range map[int]bool{items*(itemBytes+1<<10) - 1: true, items * (itemBytes + 1<<10): false} {
		v, err := itemsAt(list, 0, limit, false)
		if rejected != (err != nil) || rejected != (v.Items == nil) {
			t.Errorf("limit of %d bytes: got %d items, %v, want rejected %t", limit, len(v.Items), err, rejected)
		}
	}
}

// TestIntegerFeatures checks that unsigned 64-bit integers can be features.
func TestIntegerFeatures(t *testing.T) {
	b := array.NewListBuilder(memory.DefaultAllocator, arrow.PrimitiveTypes.Uint64)
	b.Append(true)
	b.ValueBuilder().(*array.Uint64Builder).AppendValues([]uint64{3, math.MaxUint64}, nil)
	if got, err := numbersAt(b.NewListArray(), 0); err != nil || !slices.Equal(got, []float32{3, 0x1p64}) {
		t.Errorf("got %v, %v, want 3 and 2⁶⁴", got, err)
	}
}

// TestEdgesOfARow checks that a list of edges beyond the byte limit is an error, and so are list
// offsets beyond the values, as in a damaged file.
func TestEdgesOfARow(t *testing.T) {
	lists := func(values arrow.Array, offsets ...int32) arrow.Array {
		buffer := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets))
		return array.NewListData(array.NewData(arrow.ListOf(values.DataType()), len(offsets)-1,
			[]*memory.Buffer{nil, buffer}, []arrow.ArrayData{values.Data()}, 0, 0))
	}
	numbers := array.NewInt32Builder(memory.DefaultAllocator)
	numbers.AppendValues([]int32{0, 1, 2, 0}, nil)
	ends := numbers.NewArray()
	edges := lists(lists(ends, 0, 2, 4), 0, 2)
	if v, err := edgesAt(edges, 0, 2*edgeBytes); err != nil || !slices.Equal(v.Edges, [][2]int32{{0, 1}, {2, 0}}) {
		t.Errorf("got %v, %v, want [[0 1] [2 0]]", v.Edges, err)
	}
	for want, c := range map[string]struct {
		list  arrow.Array
		limit int
	}{
		"exceeds the size limit of a row": {edges, 2*edgeBytes - 1},
		"damaged":                         {lists(lists(ends, 0, 2, 4), 0, 3), 1 << 20},
		"edge 1: the file is damaged":     {lists(lists(ends, 0, 2, 5), 0, 2), 1 << 20},
	} {
		if v, err := edgesAt(c.list, 0, c.limit); err == nil || !strings.Contains(err.Error(), want) || v.Edges != nil {
			t.Errorf("got %v, %v; want %s", v.Edges, err, want)
		}
	}
}
