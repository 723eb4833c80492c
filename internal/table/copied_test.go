package table

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/sftseq/sftseq/internal/must"
)

// TestCopiedLists checks that copied lists of Arrow and Parquet become JSON with the exact text of
// negative numbers, large numbers, floats, times, nulls, nested lists and structs.
func TestCopiedLists(t *testing.T) {
	i64, f64 := arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64
	columns := []struct {
		item arrow.DataType
		text string // two rows
	}{
		{i64, `[-1,null,9223372036854775807],[-9223372036854775808]`},
		{arrow.PrimitiveTypes.Uint64, `[18446744073709551615],[]`},
		{f64, `[0.1,null,-0.3,1e-07],[1e+300]`},
		{arrow.PrimitiveTypes.Float32, `[0.1,3.4e+38],null`},
		{arrow.FixedWidthTypes.Boolean, `[true,null],[false]`},
		{arrow.BinaryTypes.String, `["a<b",null],["[1"]`},
		{arrow.FixedWidthTypes.Date32, `["2024-01-02",null],[]`},
		{arrow.FixedWidthTypes.Timestamp_us, `["2024-01-02 03:04:05.000006Z",null],[]`},
		{arrow.StructOf(arrow.Field{Name: "n", Type: f64, Nullable: true}, arrow.Field{Name: `t "1"`, Nullable: true,
			Type: arrow.ListOf(arrow.FixedWidthTypes.Timestamp_ms)}),
			`[{"n":-0.5,"t \"1\"":["2024-01-02 03:04:05Z"]},null],[{"n":null,"t \"1\"":null}]`},
		{arrow.ListOf(f64), `[[0.5,null],null,[]],[[-1]]`},
	}
	var fields []arrow.Field
	var names []string
	for i, c := range columns {
		names = append(names, string(rune('a'+i)))
		fields = append(fields, arrow.Field{Name: names[i], Type: arrow.ListOf(c.item), Nullable: true})
	}
	schema := arrow.NewSchema(fields, nil)
	var lists []arrow.Array
	for i, c := range columns {
		list := must.Get2(array.FromJSON(memory.DefaultAllocator, fields[i].Type, strings.NewReader("["+c.text+"]"),
			array.WithUseNumber()))
		a, _ := list(t, c.item)
		lists = append(lists, a)
	}
	record := array.NewRecord(schema, lists, 2)
	var stream, stored bytes.Buffer
	w := ipc.NewWriter(&stream, ipc.WithSchema(schema))
	must.Succeed(t, w.Write(record))
	must.Succeed(t, w.Close())
	p := must.Get(pqarrow.NewFileWriter(schema, &stored, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps()))(t)
	must.Succeed(t, p.Write(record))
	must.Succeed(t, p.Close())
	for name, data := range map[string]string{"a.arrow": stream.String(), "a.parquet": stored.String()} {
		path := writeFile(t, name, data)
		for i, c := range columns {
			column := names[i : i+1]
			r, err := Open(t.Context(), path, Options{Columns: column, Copied: column, Typed: column})
			if err != nil {
				t.Errorf("%s, %s: %v", filepath.Base(path), c.item, err)
				continue
			}
			var texts []string
			var row Row
			for r.Next(&row) == nil {
				must.Check(t, row.Err, name, c.item)
				if v := row.Values[0]; v.Null {
					texts = append(texts, "null")
				} else if texts = append(texts, v.Text); !v.JSON {
					t.Errorf("%s, %s: %+v is not JSON", name, c.item, v)
				}
			}
			must.Check(t, r.Close())
			if got := strings.Join(texts, ","); got != c.text {
				t.Errorf("%s, %s: got %s, want %s", name, c.item, got, c.text)
			}
		}
	}
}
