package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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

// storedColumns are columns of stored types. values are in the syntax of Arrow's builders, except for a
// final Z, which storedTable removes. text has the expected Value.Text; nil means that it equals values.
var storedColumns = []struct {
	field        arrow.Field
	values, text []string
}{
	{arrow.Field{Type: arrow.FixedWidthTypes.Boolean}, []string{"true", "false"}, nil},
	{arrow.Field{Type: arrow.PrimitiveTypes.Int8}, []string{"-128", "127"}, nil},
	{arrow.Field{Type: arrow.PrimitiveTypes.Uint16}, []string{"0", "65535"}, nil},
	{arrow.Field{Type: arrow.PrimitiveTypes.Uint32}, []string{"4294967295", "1"}, nil},
	{arrow.Field{Type: arrow.PrimitiveTypes.Int64}, []string{"-9223372036854775808", "9223372036854775807"}, nil},
	{arrow.Field{Type: arrow.PrimitiveTypes.Uint64}, []string{"18446744073709551615", "0"}, nil},
	{arrow.Field{Type: arrow.FixedWidthTypes.Float16}, []string{"0.5", "-2"}, nil},
	{arrow.Field{Type: arrow.PrimitiveTypes.Float32}, []string{"1e-05", "3.4e+38"}, []string{"0.00001", "3.4e+38"}},
	{arrow.Field{Type: arrow.PrimitiveTypes.Float64}, []string{"1700000009.953125", "NaN"}, nil},
	{arrow.Field{Type: arrow.PrimitiveTypes.Float64}, []string{"-0", "5e-324"}, nil},
	{arrow.Field{Type: arrow.PrimitiveTypes.Float64}, []string{"+Inf", "-Inf"}, []string{"Infinity", "-Infinity"}},
	{arrow.Field{Type: arrow.FixedWidthTypes.Time64us, Metadata: arrow.NewMetadata([]string{keyUTC}, []string{"true"})},
		[]string{"12:34:09.5", "00:00:00"}, []string{"12:34:09.5+00:00", "00:00:00+00:00"}},
	{arrow.Field{Type: &arrow.Decimal128Type{Precision: 9, Scale: 2}}, []string{"12.50", "-0.05"}, nil},
	{arrow.Field{Type: &arrow.Decimal128Type{Precision: 38, Scale: 10}},
		[]string{"9999999999999999999999999999.9999999999", "-9999999999999999999999999999.9999999999"}, nil},
	{arrow.Field{Type: &arrow.Decimal128Type{Precision: 38, Scale: 38}},
		[]string{"0.00000000000000000000000000000000000001"}, nil},
	{arrow.Field{Type: &arrow.Decimal256Type{Precision: 60, Scale: 2}}, []string{"12.50", "-0.05"}, nil},
	{arrow.Field{Type: arrow.FixedWidthTypes.Date32}, []string{"1899-12-30", "2024-02-29"}, nil},
	{arrow.Field{Type: arrow.FixedWidthTypes.Date64}, []string{"1899-12-30", "2024-02-29"}, nil},
	{arrow.Field{Type: arrow.FixedWidthTypes.Time32ms}, []string{"00:00:00.000", "23:59:59.120"},
		[]string{"00:00:00", "23:59:59.12"}},
	{arrow.Field{Type: arrow.FixedWidthTypes.Time32s}, []string{"00:00:01", "23:59:59"}, nil},
	{arrow.Field{Type: &arrow.TimestampType{Unit: arrow.Second}}, []string{"1969-12-31 23:59:09"}, nil},
	{arrow.Field{Type: arrow.FixedWidthTypes.Time64us}, []string{"12:34:09.953125", "00:00:00.000001"}, nil},
	{arrow.Field{Type: arrow.FixedWidthTypes.Time64ns}, []string{"12:34:09.953125001", "00:00:00.000000001"}, nil},
	{arrow.Field{Type: &arrow.TimestampType{Unit: arrow.Millisecond}},
		[]string{"1969-12-31 23:59:09.953", "2024-01-02 03:04:05"}, nil},
	{arrow.Field{Type: &arrow.TimestampType{Unit: arrow.Nanosecond}}, []string{"1969-12-31 23:59:09.953125001"}, nil},
	{arrow.Field{Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}},
		[]string{"1969-12-31 23:59:09.953125Z", "2024-01-02 03:04:05Z"}, nil},
	{arrow.Field{Type: &arrow.FixedSizeBinaryType{ByteWidth: 16},
		Metadata: arrow.NewMetadata([]string{ipc.ExtensionTypeKeyName}, []string{extensionUUID})},
		[]string{"MTIzNDU2Nzg5MDEyMzQ1Ng=="}, []string{"31323334-3536-3738-3930-313233343536"}},
	{arrow.Field{Type: &arrow.FixedSizeBinaryType{ByteWidth: 3}}, []string{"YWJj"}, []string{"abc"}},
	{arrow.Field{Type: arrow.BinaryTypes.Binary}, []string{"YWJj", "YQ=="}, []string{"abc", "a"}},
	{arrow.Field{Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8,
		ValueType: arrow.PrimitiveTypes.Int32}}, []string{"-7", "8"}, nil},
}

// inParquet maps Arrow types that Parquet lacks to the types that replace them: Parquet has a
// single date type, and no seconds.
var inParquet = map[string]arrow.DataType{
	"date64":       arrow.FixedWidthTypes.Date32,
	"time32[s]":    arrow.FixedWidthTypes.Time32ms,
	"timestamp[s]": &arrow.TimestampType{Unit: arrow.Millisecond},
}

// init adds, for each of storedColumns, a column of the same type with only nulls.
func init() {
	for _, c := range storedColumns {
		c.values, c.text = nil, nil
		storedColumns = append(storedColumns, c)
	}
}

// storedTable returns an Arrow stream of the columns, each padded with nulls to three rows.
func storedTable(t *testing.T) (text string, names []string) {
	t.Helper()
	var fields []arrow.Field
	for i, c := range storedColumns {
		c.field.Name, c.field.Nullable = fmt.Sprintf("c%d", i), true
		fields, names = append(fields, c.field), append(names, c.field.Name)
	}
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i, c := range storedColumns {
		for row := range 3 {
			if row < len(c.values) {
				must.Succeed(t, b.Field(i).AppendValueFromString(strings.TrimSuffix(c.values[row], "Z")))
			} else {
				b.Field(i).AppendNull()
			}
		}
	}
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	must.Succeed(t, errors.Join(w.Write(b.NewRecord()), w.Close()))
	return out.String(), names
}

// storedRows returns a table's values and their stored types.
func storedRows(t *testing.T, path string, names []string) (rows [][]Value, types map[string]arrow.Field) {
	t.Helper()
	r := must.Get(Open(t.Context(), path, Options{Columns: names, Copied: names, Typed: names}))(t)
	types = StreamTypes(r, names, true)
	for {
		var row Row
		err := r.Next(&row)
		if err == io.EOF {
			break
		}
		must.Succeed(t, errors.Join(err, row.Err))
		rows = append(rows, slices.Clone(row.Values))
	}
	must.Succeed(t, r.Close())
	return rows, types
}

// TestStored checks that values keep type and bits when copied to Arrow and from there to Parquet,
// except for types that Parquet lacks, and that their text is exact.
func TestStored(t *testing.T) {
	text, names := storedTable(t)
	want, types := storedRows(t, writeFile(t, "x.arrows", text), names)
	for i, c := range storedColumns {
		if len(types[names[i]].Name) == 0 {
			t.Errorf("%s: got no stored type", c.field.Type)
		}
		exact := c.text
		if exact == nil {
			exact = c.values
		}
		for row, text := range exact {
			if got := want[row][i].Text; got != text {
				t.Errorf("%s: got %q, want %q", c.field.Type, got, text)
			}
		}
		if v := want[2][i]; !v.Null || v.Stored != "" {
			t.Errorf("%s: got %v, want null", c.field.Type, v)
		}
	}
	from := writeFile(t, "x.arrows", text)
	for _, format := range []string{"arrow", "parquet"} {
		rows, types := storedRows(t, from, names)
		var columns []OutputColumn
		for _, name := range names {
			columns = append(columns, OutputColumn{Name: name, Kind: StoredColumn, Field: types[name]})
		}
		var values [][]any
		for _, row := range rows {
			var out []any
			for _, v := range row {
				if v.Null {
					out = append(out, nil)
				} else {
					out = append(out, v.Stored)
				}
			}
			values = append(values, out)
		}
		from = writeFile(t, "x."+format, string(writeTable(t, format, columns, values)))
		got, found := storedRows(t, from, names)
		for i, name := range names {
			a, b := types[name], found[name]
			if other := inParquet[a.Type.String()]; other != nil && format == "parquet" {
				a.Type = other
			}
			if !arrow.TypeEqual(a.Type, b.Type) || isUUID(a) != isUUID(b) {
				t.Errorf("%s: got type %s, want %s", format, b.Type, a.Type)
			}
			for row := range want {
				if arrow.TypeEqual(types[name].Type, b.Type) && got[row][i].Stored != want[row][i].Stored {
					t.Errorf("%s: %s: got % x, want % x", format, a.Type, got[row][i].Stored, want[row][i].Stored)
				}
				if got[row][i].Text != want[row][i].Text || got[row][i].Null != want[row][i].Null {
					t.Errorf("%s: %s: got %v, want %v", format, a.Type, got[row][i], want[row][i])
				}
			}
		}
	}
	w := must.Get(NewWriter(&bytes.Buffer{}, "parquet", []OutputColumn{{Name: "x", Kind: StoredColumn,
		Field: arrow.Field{Type: arrow.PrimitiveTypes.Int32}}}))(t)
	must.Fail(t, "column x: found a value of type table.Stored")(w.Write([]any{Stored("123")}))
}

// TestStoredTypes checks that columns whose types differ between files, and columns whose type
// Parquet lacks, are copied as text. Only differing types cause a note.
func TestStoredTypes(t *testing.T) {
	write := func(path string, fields ...arrow.Field) {
		var columns []OutputColumn
		for _, f := range fields {
			columns = append(columns, OutputColumn{Name: f.Name, Kind: StoredColumn, Field: f})
		}
		must.Succeed(t, os.WriteFile(path, writeTable(t, "arrow", columns, nil), 0o666))
	}
	dir := t.TempDir()
	same := arrow.Field{Name: "same", Type: arrow.PrimitiveTypes.Int32}
	large := arrow.Field{Name: "large", Type: &arrow.Decimal128Type{Precision: 5, Scale: -3}}
	write(filepath.Join(dir, "a.arrow"), same, large, arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32})
	write(filepath.Join(dir, "b.arrow"), same, large, arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64})
	for _, parquet := range []bool{false, true} {
		s := must.Get(NewStoredTypes(t.Context(), []string{dir}, "",
			[]string{"same", "large", "x", "path"}, parquet))(t)
		if len(s.Conflicts) != 1 || !strings.Contains(s.Conflicts[0],
			"column x is int32 in "+filepath.Join(dir, "a.arrow")+
				" and int64 in "+filepath.Join(dir, "b.arrow")) {
			t.Errorf("got notes %q, want one on column x", s.Conflicts)
		}
		if _, ok := s.Fields["large"]; ok == parquet || s.Fields["same"].Type != same.Type ||
			s.Fields["x"].Type != nil {
			t.Errorf("parquet %v: got fields %v, want same, and large unless parquet is true", parquet, s.Fields)
		}
	}
	csv := writeFile(t, "x.csv", "same\n1\n")
	s := must.Get(NewStoredTypes(t.Context(), []string{filepath.Join(dir, "a.arrow"), csv}, "",
		[]string{"same"}, false))(t)
	if len(s.Fields) > 0 {
		t.Errorf("got types %v for a text table, want none", s.Fields)
	}
}
