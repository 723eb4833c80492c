package table

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// pageOf returns a page with the given header fields. part is the id of the type-specific header,
// and numbers are its fields.
func pageOf(kind, uncompressed, compressed int32, part byte, numbers []int32, data string) string {
	var w thriftWriter
	w.int32(1, kind)
	w.int32(2, uncompressed)
	w.int32(3, compressed)
	w.writeStruct(part, numbers...)
	return string(w.out) + "\x00" + data
}

// dataPage returns an uncompressed page of version 1.
func dataPage(values, encoding int32, data string) string {
	return pageOf(pageData, int32(len(data)), int32(len(data)), 5,
		[]int32{values, encoding, encodingRLE, encodingRLE}, data)
}

// uvarints returns integers as unsigned LEB128.
func uvarints(values ...uint64) (out string) {
	for _, v := range values {
		out += string(binary.AppendUvarint(nil, v))
	}
	return out
}

// TestBadPages checks that the sizes, counts and encodings that a page header claims are verified
// before memory is allocated.
func TestBadPages(t *testing.T) {
	four := strings.Repeat("\x01\x00\x00\x00", 4)
	packed := pageOf(pageDictionary, 4, 4, 7, []int32{1, encodingPlain}, four[:4])
	both := thriftWriter{out: []byte(strings.TrimSuffix(dataPage(4, encodingPlain, ""), "\x00")), id: 5}
	both.writeStruct(7, 1, encodingPlain)
	delta := func(numbers ...uint64) string { return dataPage(4, encodingDelta, uvarints(numbers...)) }
	for _, c := range []struct {
		name   string
		change func(*chunk)
		text   string
		want   string
	}{
		{"valid", nil, dataPage(4, encodingPlain, four), ""},
		{"index page", nil, pageOf(1, 4, 4, 6, nil, four), "kind 1: expected data or a dictionary"},
		{"no type-specific header", nil, string((&thriftWriter{out: []byte{0x15, 0, 0x15, 8, 0x15, 8, 0}}).out),
			"kind 0"},
		{"two type-specific headers", nil, string(both.out) + "\x00" + four, "kind 0: expected data or a dictionary"},
		{"longer than the file", nil, pageOf(pageData, 16, 1000, 5, []int32{4, 0, 3, 3}, four),
			"expected at most the remaining 16 bytes, found a length of 1000"},
		{"negative length", nil, pageOf(pageData, 16, -1, 5, []int32{4, 0, 3, 3}, four), "found a length of -1"},
		{"decompression bomb", nil, pageOf(pageData, 1<<30, 16, 5, []int32{4, 0, 3, 3}, four),
			"expected at most 268435456 bytes, found 1073741824"},
		{"wrong uncompressed size", nil, pageOf(pageData, 20, 16, 5, []int32{4, 0, 3, 3}, four),
			"expected 20 bytes, found 16"},
		{"too many values", nil, dataPage(5, encodingPlain, four),
			"expected at most the remaining 4 values of the row group, found 5"},
		{"negative number of values", nil, dataPage(-5, encodingPlain, four), "found -5"},
		{"dictionary with too many values", nil, pageOf(pageDictionary, 4, 4, 7, []int32{5, 0}, four[:4]),
			"dictionary: expected at most 4 values, found 5"},
		{"second dictionary", nil, packed + packed, "page 1: expected a dictionary only as the first page"},
		{"dictionary in a dictionary encoding", nil, pageOf(pageDictionary, 4, 4, 7, []int32{1, 8}, four[:4]),
			"dictionary encoding: expected PLAIN, found RLE_DICTIONARY"},
		{"missing dictionary", nil, dataPage(4, encodingDictionary, "\x01\x08\x00"), "the dictionary is missing"},
		{"dictionary indices too wide", nil, packed + dataPage(4, encodingDictionary, "\x20\x08\xff\xff\xff\x7f"),
			"found indices of 32 bits, too wide for a dictionary of 1 values"},
		{"text encoding of integers", nil, dataPage(4, encodingDeltaText, four),
			"encoding DELTA_BYTE_ARRAY is not supported for INT32"},
		{"unknown encoding", nil, dataPage(4, 77, four), "encoding number 77"},
		{"delta encoding", nil, delta(128, 4, 1, 2), ""},
		{"delta encoding with too many values", nil, delta(128, 4, 1<<40, 0),
			"128 values in 4 miniblocks, 1099511627776 values in total"},
		{"delta encoding with a huge block", nil, delta(1<<40, 4, 4, 0), "blocks of 1099511627776"},
		{"delta encoding without miniblocks", nil, delta(128, 0, 4, 0), "blocks of 128 values in 0 miniblocks"},
		{"truncated delta encoding", nil, delta(128, 4, 4, 0), "delta encoding: the page is truncated"},
		{"truncated byte streams", nil, dataPage(4, encodingByteStreamSplit, four[:7]),
			"found 7 bytes for values of 4"},
		{"levels too long", func(c *chunk) { c.definitions = 1 },
			dataPage(4, encodingPlain, "\x64\x00\x00\x00\x08\x01"), "at most the remaining 2 bytes, found a length of 100"},
		{"truncated levels", func(c *chunk) { c.repetitions = 1 }, dataPage(4, encodingPlain, "\x02"),
			"the page ends within its levels"},
		{"levels in BIT_PACKED", func(c *chunk) { c.definitions = 1 },
			pageOf(pageData, 4, 4, 5, []int32{4, 0, 4, 3}, four[:4]), "level encodings: expected RLE, found BIT_PACKED and RLE"},
		{"version 2 with levels too long", nil, pageOf(pageDataV2, 4, 4, 8, []int32{4, 0, 4, 0, 3, 2},
			four[:4]), "levels of 3 and 2 bytes in a page of 4"},
		{"Snappy too long", func(c *chunk) { c.codec = codecSnappy }, pageOf(pageData, 16, 4, 5, []int32{4, 0, 3, 3},
			"\xff\xff\xff\x0f"), "expected 16 bytes, found 33554431"},
		{"LZ4 too long", func(c *chunk) { c.codec = codecLZ4Raw }, pageOf(pageData, 1<<20, 4, 5, []int32{4, 0, 3, 3},
			"\xff\xff\xff\x0f"), "4 compressed bytes are too few for 1048576"},
		{"Zstandard too long", func(c *chunk) { c.codec = codecZstd }, compressedPage(16, zstandard(t, four+"x")),
			"expected 16 bytes, found at least 1 more"},
		{"Zstandard too short", func(c *chunk) { c.codec = codecZstd }, compressedPage(17, zstandard(t, four)),
			"found 16 of 17 bytes: unexpected EOF"},
		{"gzip too long", func(c *chunk) { c.codec = codecGzip }, compressedPage(15, gzipped(four)),
			"expected 15 bytes, found at least 1 more"},
		{"not gzip", func(c *chunk) { c.codec = codecGzip }, compressedPage(16, four), "invalid header"},
		{"not Brotli", func(c *chunk) { c.codec = codecBrotli }, compressedPage(16, "\xff\xff\xff"), "brotli"},
	} {
		r := &chunk{name: "a", kind: parquet.Types.Int32, width: 4, values: 4, dictionary: -1,
			remaining: int64(len(c.text)),
			r:         bufio.NewReader(strings.NewReader(c.text))}
		if c.change != nil {
			c.change(r)
		}
		before := allocated()
		_, err := io.ReadAll(r)
		if took := allocated() - before; took > 16<<20 {
			t.Errorf("%s: allocated %d bytes, want at most 16 MiB", c.name, took)
		}
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || c.want == "" || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), `column "a": page `) {
			t.Errorf("%s: got error %v, want %q", c.name, err, c.want)
		}
	}
}

// compressedPage returns a page of compressed data that claims size uncompressed bytes.
func compressedPage(size int32, data string) string {
	return pageOf(pageData, size, int32(len(data)), 5, []int32{4, 0, 3, 3}, data)
}

// TestPageChecksum checks that a page with a wrong checksum is an error.
func TestPageChecksum(t *testing.T) {
	four := strings.Repeat("\x01\x00\x00\x00", 4)
	for sum, want := range map[uint32]string{0xad60f150: "", 1: "expected the checksum"} {
		var w thriftWriter
		w.int32(1, pageData)
		w.int32(2, 16)
		w.int32(3, 16)
		w.int32(4, int32(sum))
		w.writeStruct(5, 4, encodingPlain, encodingRLE, encodingRLE)
		text := string(w.out) + "\x00" + four
		_, err := io.ReadAll(&chunk{kind: parquet.Types.Int32, values: 4, remaining: int64(len(text)),
			r: bufio.NewReader(strings.NewReader(text))})
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%08x: got error %v, want %q", sum, err, want)
		}
	}
}

// thriftOf returns a Thrift struct of the given fields, numbered from 1. A nil field is omitted.
func thriftOf(fields ...any) []byte {
	var w thriftWriter
	for i, f := range fields {
		id := byte(i + 1)
		switch f := f.(type) {
		case int32:
			w.int32(id, f)
		case int64:
			w.field(id, thriftInt64)
			w.out = binary.AppendUvarint(w.out, uint64(f<<1^f>>63))
		case string:
			w.field(id, thriftBinary)
			w.out = append(binary.AppendUvarint(w.out, uint64(len(f))), f...)
		case []byte: // a struct
			w.field(id, thriftStruct)
			w.out = append(w.out, f...)
		case [][]byte: // a list of structs
			w.field(id, thriftList)
			w.out = append(w.out, byte(len(f))<<4|thriftStruct)
			w.out = append(w.out, bytes.Join(f, nil)...)
		case []string:
			w.field(id, thriftList)
			w.out = append(w.out, byte(len(f))<<4|thriftBinary)
			for _, s := range f {
				w.out = append(binary.AppendUvarint(w.out, uint64(len(s))), s...)
			}
		}
	}
	return append(w.out, 0)
}

// listFile returns a Parquet file of one row with a list of n equal numbers, encoded in a few
// bytes.
func listFile(n int64) string { return listFileAnd(n) }

// listFileAnd returns listFile(n) with additional row groups that have no pages.
func listFileAnd(n int64, groups ...emptyGroup) string {
	run := func(count int64, value string) string { return uvarints(uint64(count)<<1) + value }
	levels := func(runs string) string {
		return string(binary.LittleEndian.AppendUint32(nil, uint32(len(runs)))) + runs
	}
	pages := pageOf(pageDictionary, 4, 4, 7, []int32{1, encodingPlain}, "\x07\x00\x00\x00") +
		dataPage(int32(n), encodingDictionary,
			levels(run(1, "\x00")+run(n-1, "\x01"))+levels(run(n, "\x01"))+"\x01"+run(n, "\x00"))
	column := thriftOf(nil, int64(4), thriftOf(int32(parquet.Types.Int32), []string{}, []string{"ids"},
		int32(codecNone), n, int64(len(pages)), int64(len(pages)), nil, int64(4)))
	rowGroups, rows := [][]byte{thriftOf([][]byte{column}, int64(len(pages)), int64(1))}, int64(1)
	for _, g := range groups {
		empty := thriftOf(nil, int64(0), thriftOf(int32(parquet.Types.Int32), []string{}, []string{"ids"},
			int32(codecNone), g.values, int64(0), int64(0), nil, int64(0)))
		rowGroups = append(rowGroups, thriftOf([][]byte{empty}, int64(0), g.rows))
		rows += g.rows
	}
	footer := thriftOf(int32(1), [][]byte{
		thriftOf(nil, nil, nil, "schema", int32(1)),
		thriftOf(int32(parquet.Types.Int32), nil, int32(2), "ids"), // repeated
	}, rows, rowGroups)
	return parquetMagic + pages + string(footer) + string(binary.LittleEndian.AppendUint32(nil,
		uint32(len(footer)))) + parquetMagic
}

// emptyGroup is a row group without pages. Its metadata claims the given numbers of rows and values.
type emptyGroup struct{ rows, values int64 }

// TestEmptyGroups checks that a row group without rows needs no pages. A group that claims values
// without pages, or an impossible number of rows, is an error.
func TestEmptyGroups(t *testing.T) {
	empty := emptyGroup{0, 0}
	for _, c := range []struct {
		groups    []emptyGroup
		rows      int64 // number of rows in the metadata
		extentErr string
		readErr   string
	}{
		{[]emptyGroup{empty, empty}, 1, "", ""},
		{[]emptyGroup{{0, 3}}, 1, "", `row group 1: column "ids": expected 0 values, found 3`},
		{[]emptyGroup{{3, 3}}, 4, "", `row group 1: column "ids": expected an offset from 4 to`},
		{[]emptyGroup{{-1, 0}}, 0, "row group 1: found a row count of -1",
			"row group 1: expected 1 columns and 0 or more rows, found 1 columns and -1 rows"},
		{[]emptyGroup{{math.MaxInt64, 0}}, 0, "row group 1: found a row count of 9223372036854775807", "row group 1"},
	} {
		path := writeFile(t, "x.parquet", listFileAnd(5, c.groups...))
		e, err := ExtentOf(t.Context(), path, "parquet")
		if c.extentErr == "" && (err != nil || e.Rows != c.rows) || c.extentErr != "" &&
			(err == nil || !strings.Contains(err.Error(), path+": "+c.extentErr)) {
			t.Errorf("%v: got %d rows, %v; want %d rows or error %q", c.groups, e.Rows, err, c.rows, c.extentErr)
		}
		got, err := readText(path, Options{Columns: []string{"ids"}})
		if c.readErr == "" && (err != nil || len(got) != 1 || got[0] != "1: [7 7 7 7 7]") || c.readErr != "" &&
			(err == nil || !strings.Contains(err.Error(), c.readErr)) {
			t.Errorf("%v: got %q, %v; want one row or error %q", c.groups, got, err, c.readErr)
		}
	}
}

// TestListBomb checks that a very long list encoded in a few bytes is an error, and that memory for all
// numbers of the list is not allocated.
func TestListBomb(t *testing.T) {
	if got, err := readText(writeFile(t, "x.parquet", listFile(5)), Options{Columns: []string{"ids"}}); err != nil ||
		len(got) != 1 || got[0] != "1: [7 7 7 7 7]" {
		t.Fatalf("got %q, %v, want a list of 5", got, err)
	}
	for n, want := range map[int64]string{100_000: "1! column ids: the row has more than 65536 bytes", 1 << 30: ""} {
		if testing.Short() && n == 1<<30 {
			continue // takes a second
		}
		path := writeFile(t, "x.parquet", listFile(n))
		before := allocated()
		got, err := readText(path, Options{Columns: []string{"ids"}, MaxField: 1 << 16})
		if took := allocated() - before; took > 2<<30 {
			t.Errorf("%d numbers: allocated %d bytes, want at most 2 GiB", n, took)
		}
		if want != "" && (err != nil || len(got) != 1 || got[0] != want) || want == "" &&
			(err == nil || !strings.Contains(err.Error(),
				"x.parquet: row group 0: expected allocations of at most 268435456 bytes, found 536870912")) {
			t.Errorf("%d numbers: got %.100q, %v; want %q", n, got, err, want)
		}
	}
}

// TestLongValues checks that long rows are read in smaller records, each row exactly once.
func TestLongValues(t *testing.T) {
	testenv.Long(t, "reads 360 MB")
	path := filepath.Join(t.TempDir(), "x.parquet")
	f := must.Get(os.Create(path))(t)
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int32},
		{Name: "text", Type: arrow.BinaryTypes.String}}, nil)
	w, err := pqarrow.NewFileWriter(schema, f,
		parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy)), pqarrow.DefaultWriterProps())
	must.Succeed(t, err)
	const rows, short = 600, 300 // the dictionary has the long text once
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	long := strings.Repeat("abcdefgh", 150_000)
	for i := range rows {
		b.Field(0).(*array.Int32Builder).Append(int32(i))
		text := "short"
		if i >= short {
			text = long
		}
		b.Field(1).(*array.StringBuilder).Append(text)
	}
	must.Succeed(t, errors.Join(w.WriteBuffered(b.NewRecord()), w.Close()))
	r, err := Open(context.Background(), path, Options{Columns: []string{"n", "text", "n"}}) // one column twice
	must.Succeed(t, err)
	defer r.Close()
	var row Row
	for i := range rows {
		if err := r.Next(&row); err != nil || row.Err != nil || row.Values[0].Text != fmt.Sprint(i) ||
			row.Values[2].Text != fmt.Sprint(i) || (len(row.Values[1].Text) == len(long)) != (i >= short) {
			var got []string
			for _, v := range row.Values {
				got = append(got, fmt.Sprintf("%.20q (%d bytes)", v.Text, len(v.Text)))
			}
			t.Fatalf("row %d: got values %v, error %v, row error %v; want %[1]d twice, a text of %[5]d bytes: %[6]v, "+
				"no errors", i, got, err, row.Err, len(long), i >= short)
		}
	}
	if err := r.Next(&row); err != io.EOF {
		t.Errorf("after the last row: got error %v, want io.EOF", err)
	}
}

// TestPageSizes checks that pages of several sizes, with and without a dictionary, are read wherever
// they end in the buffer of Arrow's reader.
func TestPageSizes(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	for _, c := range []struct{ rows, length int }{{300, 100}, {300, 150}, {600, 50}, {900, 30},
		{1000, 50}, {2000, 10}} {
		for _, dictionary := range []bool{true, false} {
			b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
			var want []string
			for i := range c.rows {
				want = append(want, fmt.Sprint("t", i, strings.Repeat("y", i%c.length)))
				b.Field(0).(*array.StringBuilder).Append(want[i])
			}
			var out bytes.Buffer
			w, err := pqarrow.NewFileWriter(schema, &out,
				parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy),
					parquet.WithDictionaryDefault(dictionary)), pqarrow.DefaultWriterProps())
			must.Succeed(t, err)
			must.Succeed(t, errors.Join(w.Write(b.NewRecord()), w.Close()))
			rows, err := readRows(writeFile(t, "x.parquet", out.String()), Options{Columns: []string{"text"}})
			if err != nil || len(rows) != c.rows {
				t.Errorf("%+v, dictionary %v: got %d rows, error %v; want %d rows", c, dictionary, len(rows), err,
					c.rows)
				continue
			}
			for i, row := range rows {
				if row.Values[0].Text != want[i] {
					t.Errorf("%v, dictionary %v: row %d: got %q, want %q", c, dictionary, i,
						row.Values[0].Text, want[i])
					break
				}
			}
		}
	}
}

// TestBadFooters checks that checkFooter rejects malformed metadata, and that files without a complete
// Parquet footer are errors.
func TestBadFooters(t *testing.T) {
	element := thriftOf(nil, nil, nil, "a", int32(1))
	var deep [][]byte
	for range 14 {
		deep = append(deep, element)
	}
	long := func(kind byte) []byte { // a list of 2³² elements
		return append([]byte{4<<4 | thriftList, 0xf0 | kind}, uvarints(1<<32)...)
	}
	nested := bytes.Repeat([]byte{1<<4 | thriftStruct}, 100)
	for name, c := range map[string]struct {
		footer []byte
		want   string
	}{
		"a long list of structs": {long(thriftStruct), "metadata is damaged"},
		"a long list of bytes":   {long(thriftByte), "metadata is damaged"},
		"a long text":            {append([]byte{4<<4 | thriftBinary}, uvarints(1<<32)...), "metadata is damaged"},
		"a long map":             {append([]byte{4<<4 | thriftMap}, uvarints(1<<32, 0x55)...), "metadata is damaged"},
		"nested structs":         {nested, "metadata is damaged"},
		"an unknown kind":        {[]byte{4<<4 | 14}, "metadata is damaged"},
		"an empty footer":        {nil, "metadata is damaged"},
		"a negative child count": {thriftOf(int32(1), [][]byte{thriftOf(nil, nil, nil, "a", int32(-5))}), "element 0"},
		"two roots":              {thriftOf(int32(1), [][]byte{thriftOf(nil, nil, nil, "a"), element}), "element 1"},
		"deep columns":           {thriftOf(int32(1), deep), ""},
	} {
		if _, err := checkFooter(c.footer); (c.want == "") != (err == nil) || err != nil &&
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want %q", name, err, c.want)
		}
	}
	good := listFile(5)
	for _, c := range []struct{ text, want string }{
		{"", "x.parquet: expected a Parquet file, which ends with PAR1"},
		{"PAR1", "expected a Parquet file, which ends with PAR1"},
		{"text,label\na,1\n", `the file begins with the text "text,lab": name its format with --format, such as ` +
			`csv or jsonl`},
		{gzipped(good), "expected a Parquet file, which ends with PAR1"},
		{"PAR1\xff\xff\xff\x7fPAR1", "metadata: expected at most 0 bytes, found a length of 2147483647"},
		{good[:len(good)-1], "expected a Parquet file"},
	} {
		must.Fail(t, c.want, c.text)(readText(writeFile(t, "x.parquet", c.text), Options{Columns: []string{"ids"}}))
	}
}

// TestDamagedOtherFiles checks that a wrong byte, at positions spread over a file, is an error that
// names the file, or leaves the number of rows unchanged. Reading must not panic or allocate memory for
// claimed sizes.
func TestDamagedOtherFiles(t *testing.T) {
	positions := 150
	if testing.Short() {
		positions = 15
	}
	for _, name := range []string{"duckdb-v2.parquet", "duckdb-snappy.parquet", "polars-lz4.parquet",
		"rust-split.parquet", "rust-prefixes.parquet", "rust-v2.parquet", "polars-zstd.arrow",
		"javascript-utf8.arrow", "polars-lz4.arrows"} {
		from := filepath.Join("testdata", "others", name)
		text := must.Get(os.ReadFile(from))(t)
		rows, columns := len(expectedRows(t, name)), columnsOf(t, from)
		columns = columns[:min(12, len(columns))] // all except the unreadable columns
		path, failed := writeFile(t, name, ""), 0
		for at := 0; at < len(text); at += 1 + len(text)/positions {
			damaged := bytes.Clone(text)
			damaged[at] ^= 1<<(at%8) | 1<<(at/8%8)
			must.Succeed(t, os.WriteFile(path, damaged, 0o666))
			before := allocated()
			got, err := readText(path, Options{Columns: columns})
			if took := allocated() - before; took > 64<<20 {
				t.Errorf("%s, byte %d: allocated %d bytes, want at most 64 MiB; error %v", name, at, took, err)
			}
			if err != nil {
				failed++
			}
			if err == nil && len(got) != rows || err != nil &&
				(errors.Is(err, io.EOF) || !strings.Contains(err.Error(), name)) {
				t.Errorf("%s, byte %d: got %d rows, error %v; want %d rows, or an error with the file name, not EOF",
					name, at, len(got), err, rows)
			}
		}
		if failed == 0 {
			t.Errorf("%s: no damage was detected", name)
		}
	}
}
