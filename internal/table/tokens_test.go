package table

import (
	"bytes"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"sftseq/seq"
)

// TestTokensOfDataSets: the ids of a data set that stores them minus 1 are read as they
// are, from its own file and from a copy in Parquet; other columns are left alone.
func TestTokensOfDataSets(t *testing.T) {
	list := arrow.ListOf(arrow.PrimitiveTypes.Uint8)
	for _, c := range []struct{ first, want, problem string }{
		{"1", "1: [1 256]|[0 255]", ""},
		{"0", "1: [0 255]|[0 255]", ""},
		{"x", "", "first_token_id: expected 0 to"},
		{"2147483647", "1! column tokens: index 1: expected a token id up to", ""},
	} {
		metadata := arrow.NewMetadata([]string{seq.KeyFirstTokenID}, []string{c.first})
		schema := arrow.NewSchema([]arrow.Field{{Name: "tokens", Type: list}, {Name: "pixels", Type: list}}, &metadata)
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for _, f := range b.Fields() {
			f.(*array.ListBuilder).Append(true)
			f.(*array.ListBuilder).ValueBuilder().(*array.Uint8Builder).AppendValues([]byte{0, 255}, nil)
		}
		record := b.NewRecord()
		var stream, rows bytes.Buffer
		w := ipc.NewWriter(&stream, ipc.WithSchema(schema))
		p, err := pqarrow.NewFileWriter(schema, &rows, parquet.NewWriterProperties(), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range []interface {
			Write(arrow.Record) error
			Close() error
		}{w, p} {
			if err := w.Write(record); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for name, text := range map[string]string{"train.arrow": stream.String(), "train.parquet": rows.String()} {
			got, err := read(file(t, name, text), Options{Columns: []string{"tokens", "pixels"}})
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) {
					t.Errorf("%s from %s: %q, %v", name, c.first, got, err)
				}
			} else if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
				t.Errorf("%s from %s: %q, %v; want %q", name, c.first, got, err, c.want)
			}
		}
	}
}
