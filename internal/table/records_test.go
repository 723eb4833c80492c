package table

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/sftseq/sftseq/internal/must"
)

// kindsRecord returns a record batch with columns of readable types, and one column of an unreadable
// type. Row 1 is null in all columns.
func kindsRecord(t testing.TB) arrow.Record {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "large", Type: arrow.BinaryTypes.LargeString, Nullable: true},
		{Name: "bytes", Type: arrow.BinaryTypes.Binary, Nullable: true},
		{Name: "word", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8,
			ValueType: arrow.BinaryTypes.String}, Nullable: true},
		{Name: "whole", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "real", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "yes", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
		{Name: "ids", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64), Nullable: true},
		{Name: "pixels", Type: arrow.ListOf(arrow.PrimitiveTypes.Uint8), Nullable: true},
		{Name: "object", Type: arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32, Nullable: true}),
			Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range 3 {
		if i == 1 {
			for _, f := range b.Fields() {
				f.AppendNull()
			}
			continue
		}
		b.Field(0).(*array.StringBuilder).Append(fmt.Sprintf("é %d", i))
		b.Field(1).(*array.LargeStringBuilder).Append("long\n\x00")
		b.Field(2).(*array.BinaryBuilder).Append([]byte{0xff, byte(i)})
		b.Field(3).(*array.BinaryDictionaryBuilder).AppendString([]string{"cat", "", "dog"}[i])
		b.Field(4).(*array.Int64Builder).Append(int64(math.MinInt64 + i))
		b.Field(5).(*array.Float64Builder).Append(1.5)
		b.Field(6).(*array.BooleanBuilder).Append(i == 2)
		for n := 7; n <= 8; n++ {
			l := b.Field(n).(*array.ListBuilder)
			l.Append(true)
			for k := range i {
				if n == 7 {
					l.ValueBuilder().(*array.Int64Builder).Append(int64(1000 * (k + 1)))
				} else {
					l.ValueBuilder().(*array.Uint8Builder).Append(uint8(255 - k))
				}
			}
		}
		s := b.Field(9).(*array.StructBuilder)
		s.Append(true)
		s.FieldBuilder(0).(*array.Int32Builder).Append(1)
	}
	return b.NewRecord()
}

// arrowText returns record batches as an Arrow IPC file or stream.
func arrowText(t testing.TB, stream bool, batches int, options ...ipc.Option) string {
	t.Helper()
	record := kindsRecord(t)
	defer record.Release()
	path := filepath.Join(t.TempDir(), "x")
	f, err := os.Create(path)
	must.Succeed(t, err)
	defer f.Close()
	options = append(options, ipc.WithSchema(record.Schema()))
	var w interface {
		Write(arrow.Record) error
		Close() error
	}
	if stream {
		w = ipc.NewWriter(f, options...)
	} else if w, err = ipc.NewFileWriter(f, options...); err != nil {
		t.Fatal(err)
	}
	for range batches {
		must.Succeed(t, w.Write(record))
	}
	must.Succeed(t, w.Close())
	text := must.Get(os.ReadFile(path))(t)
	return string(text)
}

// parquetText returns record batches as a Parquet file with a row group per batch.
func parquetText(t testing.TB, batches int, codec compress.Compression, dictionary bool) string {
	t.Helper()
	record := kindsRecord(t)
	defer record.Release()
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(record.Schema(), &out, parquet.NewWriterProperties(parquet.WithCompression(codec),
		parquet.WithDictionaryDefault(dictionary)), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	must.Succeed(t, err)
	for range batches {
		must.Succeed(t, w.Write(record))
	}
	must.Succeed(t, w.Close())
	return out.String()
}

// TestRecords checks that Arrow files, Arrow streams and Parquet files yield the same rows with each
// tested compression. Unreadable and missing columns are errors.
func TestRecords(t *testing.T) {
	columns := []string{"text", "large", "bytes", "word", "whole", "real", "yes", "ids", "pixels"}
	one := []string{"é 0|long\n\x00|\xff\x00|cat|-9223372036854775808|1.5|false|[]|[]", "∅|∅|∅|∅|∅|∅|∅|∅|∅",
		"é 2|long\n\x00|\xff\x02|dog|-9223372036854775806|1.5|true|[1000 2000]|[255 254]"}
	var want []string
	for n, row := range append(append(one, one...), one...) {
		want = append(want, fmt.Sprintf("%d: %s", n+1, row))
	}
	files := map[string]string{
		"stream.arrow": arrowText(t, true, 3), "file.arrow": arrowText(t, false, 3),
		"lz4.feather": arrowText(t, false, 3, ipc.WithLZ4()),
		"zstd.arrow":  arrowText(t, true, 3, ipc.WithZstd()), "gzip.arrow.gz": gzipped(arrowText(t, true, 3)),
	}
	for name, codec := range map[string]compress.Compression{"plain": compress.Codecs.Uncompressed,
		"snappy": compress.Codecs.Snappy, "gzip": compress.Codecs.Gzip, "zstd": compress.Codecs.Zstd,
		"brotli": compress.Codecs.Brotli} {
		for _, dictionary := range []bool{false, true} {
			files[fmt.Sprint(name, dictionary, ".parquet")] = parquetText(t, 3, codec, dictionary)
		}
	}
	for name, text := range files {
		path := writeFile(t, name, text)
		got, err := readText(path, Options{Columns: columns})
		if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: %v, got\n%q, want\n%q", name, err, got, want)
		}
		if got, err := readText(path, Options{Columns: []string{"word", "text"}}); err != nil || len(got) != 9 ||
			got[2] != "3: dog|é 2" {
			t.Errorf("%s: got %q, %v, want 9 rows, the third with dog and é 2", name, got, err)
		}
		for _, c := range []struct {
			column,
			want string
		}{{"object", `column "object": expected text, numbers or lists`},
			{"no", `column "no": expected one of "text"`}} {
			if _, err := readText(path, Options{Columns: []string{c.column}}); err == nil ||
				!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: got error %v, want %q", name, err, c.want)
			}
		}
	}
}

// TestDamagedRecords checks that reading a damaged file does not panic, that some damage is an error,
// and that these errors name the file. The first bytes of a file do not yield all rows.
func TestDamagedRecords(t *testing.T) {
	columns := []string{"text", "word", "ids"}
	for name, text := range map[string]string{"x.arrow": arrowText(t, true, 2), "y.arrow": arrowText(t, false, 2),
		"x.parquet": parquetText(t, 2, compress.Codecs.Snappy, true)} {
		failed := 0
		for at := 0; at < len(text); at += 1 + len(text)/300 {
			damaged := []byte(text)
			damaged[at] ^= 0xff
			path := writeFile(t, name, string(damaged))
			if _, err := readText(path, Options{Columns: columns}); err != nil {
				failed++
				if !strings.Contains(err.Error(), name) {
					t.Errorf("%s, byte %d: got error %v, want the file name in it", name, at, err)
				}
			}
		}
		if failed == 0 {
			t.Errorf("%s: no damage was detected", name)
		}
		for _, length := range []int{0, 5, 20, len(text) / 2, len(text) * 9 / 10} {
			if rows, err := readText(writeFile(t, name, text[:length]), Options{Columns: columns}); err == nil &&
				len(rows) == 6 && length < len(text)/2 {
				t.Errorf("%s: got all 6 rows, %q, from the first %d of %d bytes; want an error or not 6 rows", name,
					rows, length, len(text))
			}
		}
	}
	must.Fail(t, "expected a seekable Parquet file")(Open(context.Background(), StandardInput, Options{Format: "parquet"}))
}

// TestHuggingFace checks that the splits of a saved data set are read in order, with class names. Malformed
// files and missing columns are errors.
func TestHuggingFace(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		os.MkdirAll(filepath.Dir(path), 0o777)
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o666))
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "text", Type: arrow.BinaryTypes.String},
		{Name: "label", Type: arrow.PrimitiveTypes.Int64}}, nil)
	stream := func(rows string) string {
		record, _ := must.Get2(array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows)))(t)
		var out bytes.Buffer
		w := ipc.NewWriter(&out, ipc.WithSchema(schema))
		must.Succeed(t, w.Write(record))
		w.Close()
		return out.String()
	}
	const info = `{"features":{"text":{"dtype":"string","_type":"Value"},"label":{"names":["neg","pos"],"_type":"ClassLabel"}}}`
	write("dataset_dict.json", `{"splits":["train","test"]}`)
	write("train/dataset_info.json", info)
	write("train/state.json", `{"_data_files":[{"filename":"b.arrow"},{"filename":"a.arrow"}],"_split":"train"}`)
	write("train/a.arrow", stream(`[{"text":"third","label":0}]`))
	write("train/b.arrow", stream(`[{"text":"first","label":1},{"text":"second","label":-1}]`))
	write("test/dataset_info.json", info)
	write("test/state.json", `{"_data_files":[{"filename":"c.arrow"}]}`)
	write("test/c.arrow", stream(`[{"text":"fourth","label":1}]`))
	got, err := readText(dir, Options{Columns: []string{"split", "text", "label", "split"}})
	want := []string{"1: train|first|pos|train", "2: train|second|∅|train", "1: train|third|neg|train",
		"1: test|fourth|pos|test"}
	if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	got, err = readText(filepath.Join(dir, "test"), Options{Columns: []string{"text"}})
	if err != nil || len(got) != 1 || got[0] != "1: fourth" {
		t.Errorf("a split: got %q, %v, want 1: fourth", got, err)
	}
	for _, c := range []struct{ file, text, want string }{
		{"x", "", `column "words": expected one of "text", "label"`},
		{"test/state.json", "", "state.json: unexpected end of JSON input"},
		{"test/state.json", `{"_data_files":[{"filename":"../../x"}]}`, `expected a file name, found "../../x"`},
		{"test/state.json", `{"_data_files":[{"filename":"x.arrow"}]}`, "x.arrow: no such file"},
		{"test/state.json", `{}`, "expected a data set with Arrow files, found none"},
		{"test/state.json", `{"_data_files":[{"filename":"."}]}`, "test: expected an Arrow file, found a directory"},
		{"test/state.json", `{"_data_files":[{"filename":"state.json"}]}`, "state.json: expected an Arrow IPC stream"},
	} {
		write(c.file, c.text)
		must.Fail(t, c.want)(readText(filepath.Join(dir, "test"), Options{Columns: []string{"words"}}))
	}
}
