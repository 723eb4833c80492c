package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/decimal128"
	"github.com/apache/arrow/go/v15/arrow/decimal256"
	"github.com/apache/arrow/go/v15/arrow/float16"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	pqfile "github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/sftseq/sftseq/internal/must"
)

// TestScalars checks the text of Arrow's floating-point numbers, decimals, UUIDs and timestamps.
func TestScalars(t *testing.T) {
	uuid := arrow.NewMetadata([]string{ipc.ExtensionTypeKeyName}, []string{extensionUUID})
	s := arrow.NewSchema([]arrow.Field{
		{Name: "f64", Type: arrow.PrimitiveTypes.Float64}, {Name: "f32", Type: arrow.PrimitiveTypes.Float32},
		{Name: "f16", Type: arrow.FixedWidthTypes.Float16},
		{Name: "d128", Type: &arrow.Decimal128Type{Precision: 38, Scale: 20}},
		{Name: "d256", Type: &arrow.Decimal256Type{Precision: 60, Scale: 2}},
		{Name: "thousands", Type: &arrow.Decimal128Type{Precision: 5, Scale: -3}},
		{Name: "uuid", Type: &arrow.FixedSizeBinaryType{ByteWidth: 16}, Metadata: uuid},
		{Name: "naive", Type: &arrow.TimestampType{Unit: arrow.Millisecond}},
		{Name: "utc", Type: &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}},
		{Name: "zone", Type: &arrow.TimestampType{Unit: arrow.Second, TimeZone: "+02:00"}},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	for i, v := range []float64{1234561, 1e-5, 1e300} {
		b.Field(0).(*array.Float64Builder).Append(v)
		b.Field(1).(*array.Float32Builder).Append([]float32{1000000, 0.1, -16777216}[i])
		b.Field(2).(*array.Float16Builder).Append(float16.New([]float32{1024, 0.5, -2}[i]))
		b.Field(3).(*array.Decimal128Builder).Append([]decimal128.Num{decimal128.FromI64(-1),
			decimal128.FromU64(9900000000000000000), decimal128.FromI64(0)}[i])
		b.Field(4).(*array.Decimal256Builder).Append(decimal256.FromI64([]int64{1250, -5, 100}[i]))
		b.Field(5).(*array.Decimal128Builder).Append(decimal128.FromI64([]int64{7, 0, -12}[i]))
		b.Field(6).(*array.FixedSizeBinaryBuilder).Append([]byte("\x00\x00\x00\x00\x00\x00\x40\x00\x80\x00\xff\x00\x00\x00\x00" + string(rune(i))))
		b.Field(7).(*array.TimestampBuilder).Append(1704164645678)
		b.Field(8).(*array.TimestampBuilder).Append(1704164645678)
		b.Field(9).(*array.TimestampBuilder).Append(1704164645)
	}
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(s))
	must.Succeed(t, w.Write(b.NewRecord()))
	must.Succeed(t, w.Close())
	got := must.Get(readText(writeFile(t, "x.arrows", out.String()), Options{
		Columns: []string{"f64", "f32", "f16", "d128", "d256", "thousands", "uuid", "naive", "utc", "zone"},
		Copied:  []string{"naive", "utc", "zone"}}))(t)
	times := "2024-01-02 03:04:05.678|2024-01-02 03:04:05.678Z|2024-01-02 05:04:05+0200"
	if want := strings.Join([]string{
		"1: 1234561|1000000|1024|-0.00000000000000000001|12.50|7000|00000000-0000-4000-8000-ff0000000000|" + times,
		"2: 0.00001|0.1|0.5|0.09900000000000000000|-0.05|0|00000000-0000-4000-8000-ff0000000001|" + times,
		"3: 1e+300|-16777216|-2|0.00000000000000000000|1.00|-12000|00000000-0000-4000-8000-ff0000000002|" + times,
	}, "\n"); strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// typedFile returns a Parquet file without rows. It has a text column, a byte column and a group of
// one column. All except the text column have the given logical type, a Thrift-encoded field of the
// union LogicalType.
func typedFile(logical string) string {
	typed := func(fields []byte) []byte { // appends logicalType, field 10, to an element's fields
		return append(append(fields[:len(fields)-1], thriftStruct, 2*logicalTypeField), logical+"\x00\x00"...)
	}
	elements := [][]byte{
		thriftOf(nil, nil, nil, "schema", int32(3)),
		thriftOf(int32(parquet.Types.ByteArray), nil, int32(1), "text"),
		typed(thriftOf(int32(parquet.Types.ByteArray), nil, int32(1), "bytes")),
		typed(thriftOf(nil, nil, int32(1), "group", int32(1))),
		typed(thriftOf(int32(parquet.Types.ByteArray), nil, int32(0), "inner")),
	}
	footer := thriftOf(int32(1), elements, int64(0), [][]byte{})
	return parquetMagic + string(footer) + string(binary.LittleEndian.AppendUint32(nil,
		uint32(len(footer)))) + parquetMagic
}

// TestUnknownTypes checks that a column of an unknown logical type is an error only if it is read,
// and that the error names the column and the type.
func TestUnknownTypes(t *testing.T) {
	for _, c := range []struct{ logical, want string }{
		{"\x0c\x20\x00", "VARIANT"},
		{"\x0c\x22\x00", "GEOMETRY"},
		{"\x0c\x24\x18\x09OGC:CRS84\x00", "GEOGRAPHY"},
		{"\x0c\xd6\x27\x00", "logical type 2539"},
		{"\x7c\x11\x1c\x4c\x00\x00\x00", "a time of an unknown unit"},
		{"", "a logical type without a name"},
	} {
		path := writeFile(t, "x.parquet", typedFile(c.logical))
		if rows, err := readText(path, Options{Columns: []string{"text"}}); err != nil || len(rows) > 0 {
			t.Errorf("%s: got rows %q, error %v, want neither", c.want, rows, err)
		}
		for _, name := range []string{"bytes", "group"} {
			must.Fail(t, `column "`+name+`": expected text, numbers or lists of whole numbers, found `+
				c.want)(readText(path, Options{Columns: []string{name}}))
		}
	}
}

// TestVariant checks that a text column written by DuckDB is read although another column is a
// VARIANT.
func TestVariant(t *testing.T) {
	rows := must.Get(readText("testdata/variant.parquet", Options{Columns: []string{"text"}}))(t)
	if len(rows) == 0 {
		t.Error("got no rows")
	}
	must.Fail(t, "found VARIANT (Parquet)")(readText("testdata/variant.parquet", Options{Columns: []string{"extra"}}))
}

// TestInterval checks that a Parquet column of type INTERVAL is an error, because its bytes are not
// text.
func TestInterval(t *testing.T) {
	node := must.Get(schema.NewPrimitiveNodeLogical("span", parquet.Repetitions.Required, schema.IntervalLogicalType{},
		parquet.Types.FixedLenByteArray, 12, -1))(t)
	root := must.Get(schema.NewGroupNode("schema", parquet.Repetitions.Required, schema.FieldList{node}, -1))(t)
	var out bytes.Buffer
	w := pqfile.NewParquetWriter(&out, root)
	group := w.AppendRowGroup()
	column := must.Get(group.NextColumn())(t).(*pqfile.FixedLenByteArrayColumnChunkWriter)
	must.Get(column.WriteBatch([]parquet.FixedLenByteArray{make([]byte, 12)}, nil, nil))(t)
	must.Succeed(t, errors.Join(column.Close(), group.Close(), w.Close()))
	path := writeFile(t, "x.parquet", out.String())
	for _, copied := range [][]string{nil, {"span"}} {
		must.Fail(t, `column "span": expected text, numbers or lists of whole numbers, found INTERVAL (Parquet)`)(
			readText(path, Options{Columns: []string{"span"}, Copied: copied, Typed: copied}))
	}
}

// TestParquetTypes checks that Parquet's UUIDs and its timestamps with and without a time zone are
// read as text.
func TestParquetTypes(t *testing.T) {
	for _, lists := range [][]string{nil, {"u"}} { // Lists may contain columns without lists
		rows := must.Get(readText("testdata/uuid.parquet", Options{Columns: []string{"u"}, Lists: lists}))(t)
		if want := "1: 00000000-0000-4000-8000-000000000000"; rows[0] != want {
			t.Errorf("got %q, want %q", rows[0], want)
		}
	}
	rows := must.Get(readText("testdata/naive-timestamp.parquet",
		Options{Columns: []string{"ts", "tz"}, Copied: []string{"ts", "tz"}}))(t)
	if ts, tz, _ := strings.Cut(rows[0], "|"); ts != "1: 2024-01-02 03:04:05.678" || !strings.HasSuffix(tz, "Z") {
		t.Errorf("got %q, want 2024-01-02 03:04:05.678 and a time that ends in Z", rows[0])
	}
}
