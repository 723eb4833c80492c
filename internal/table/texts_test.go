package table

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/sftseq/sftseq/internal/must"
)

// TestListsOfTexts checks that lists of texts in Arrow and Parquet are copied as JSON, and are an error
// in a column that is named only in Options.Columns.
func TestListsOfTexts(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "words",
		Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	list := b.Field(0).(*array.ListBuilder)
	text := list.ValueBuilder().(*array.StringBuilder)
	list.Append(true)
	text.AppendValues([]string{"a\"ë", "b"}, nil)
	list.AppendNull()
	list.Append(true)
	list.Append(true)
	text.AppendNull()
	text.Append("c")
	record := b.NewRecord()

	var stream, file bytes.Buffer
	w := ipc.NewWriter(&stream, ipc.WithSchema(schema))
	must.Succeed(t, w.Write(record))
	must.Succeed(t, w.Close())
	p := must.Get(pqarrow.NewFileWriter(schema, &file, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps()))(t)
	must.Succeed(t, p.Write(record))
	must.Succeed(t, p.Close())
	for name, data := range map[string][]byte{"a.arrow": stream.Bytes(), "a.parquet": file.Bytes()} {
		path := filepath.Join(t.TempDir(), name)
		must.Succeed(t, os.WriteFile(path, data, 0o666))
		r := must.Get(Open(t.Context(), path, Options{Columns: []string{"words"}, Copied: []string{"words"}}))(t)
		for i, want := range []Value{{Text: `["a\"ë","b"]`, JSON: true}, {Null: true}, {Text: "[]", JSON: true},
			{Text: `[null,"c"]`, JSON: true}} {
			var row Row
			if err := r.Next(&row); err != nil || row.Err != nil {
				t.Fatalf("%s: row %d: got error %v, row error %v, want none", name, i, err, row.Err)
			}
			if v := row.Values[0]; v.Text != want.Text || v.JSON != want.JSON ||
				v.Null != want.Null || v.Tokens != nil {
				t.Errorf("%s: row %d: got %+v, want %+v", name, i, v, want)
			}
		}
		r.Close()
		must.Fail(t, "expected text, numbers or lists of whole numbers",
			name)(Open(t.Context(), path, Options{Columns: []string{"words"}}))
	}
}
