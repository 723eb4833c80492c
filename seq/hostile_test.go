package seq

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/klauspost/compress/zstd"
)

// small returns a small file or stream of several record batches.
func small(t testing.TB, format Format, task string) ([]byte, []Example) {
	spec := listopsSpec()
	spec.Task, spec.IDs = task, true
	rows := examples(5, 6, spec, 7)
	var out bytes.Buffer
	w, err := NewWriter(&out, spec, format)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			w.err = w.flush()
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), rows
}

func TestTruncatedAnywhere(t *testing.T) {
	for _, format := range []Format{FileFormat, StreamFormat} {
		data, _ := small(t, format, Classification)
		for n := range data {
			if _, _, err := readAll(bytes.NewReader(data[:n])); err == nil {
				t.Errorf("format %d: cut to %d of %d bytes: no error", format, n, len(data))
			} else if !strings.HasPrefix(err.Error(), "x.arrow: ") {
				t.Errorf("format %d: cut to %d bytes: the error does not name the file: %v", format, n, err)
			}
		}
		if _, _, err := readAll(bytes.NewReader(append(bytes.Clone(data), 0))); err == nil {
			t.Errorf("format %d: one byte more: no error", format)
		}
	}
}

// A flipped bit may make another valid file (a token is as good as another), but
// it never panics, never loses rows silently and never yields an invalid row.
func TestBitFlips(t *testing.T) {
	for format, task := range map[Format]string{FileFormat: Classification, StreamFormat: Retrieval} {
		data, rows := small(t, format, task)
		for bit := range 8 * len(data) {
			flipped := bytes.Clone(data)
			flipped[bit/8] ^= 1 << (bit % 8)
			got, spec, err := readAll(bytes.NewReader(flipped))
			if err != nil {
				continue
			}
			if len(got) != len(rows) {
				t.Errorf("format %d: bit %d: %d rows became %d without an error", format, bit, len(rows), len(got))
			}
			for i := range got {
				if err := checkExample(got[i], spec); err != nil {
					t.Errorf("format %d: bit %d: row %d: %v", format, bit, i, err)
				}
			}
		}
	}
}

func checkExample(e Example, spec *Spec) error {
	return NewBlock(spec).Append(e)
}

// TestAbsurdSizes writes a huge number over every aligned word.
func TestAbsurdSizes(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	reads := 0
	for _, format := range []Format{FileFormat, StreamFormat} {
		data, _ := small(t, format, Classification)
		for _, number := range []uint64{1 << 63, 1<<40 - 8, 1<<30 - 8} {
			for at := 0; at+8 <= len(data); at += 4 {
				for _, width := range []int{4, 8} {
					bad := bytes.Clone(data)
					if width == 4 {
						binary.LittleEndian.PutUint32(bad[at:], uint32(number))
					} else {
						binary.LittleEndian.PutUint64(bad[at:], number)
					}
					readAll(bytes.NewReader(bad))
					reads++
				}
			}
		}
	}
	runtime.ReadMemStats(&after)
	if perRead := (after.TotalAlloc - before.TotalAlloc) / uint64(reads); perRead > 3<<20 {
		t.Errorf("%d bytes allocated for each read of a file of a kilobyte", perRead)
	}
}

func TestNotArrow(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"", "the file is empty"},
		{"A", `begins with "A"`},
		{"Source\tTarget\n( [MAX 1 ) ] )\t1\n", `expected an Arrow IPC file or stream, found something that begins with "Source\tT"`},
		{"ARROW1", "begins with"},
		{"ARROW1\x00\x00", "schema: found none"},
		{"ARROW1\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00", "schema: found none"},
		{"\xff\xff\xff\xff\x00\x00\x00\x80", "metadata length"},
		{"\xff\xff\xff\xff\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "metadata is damaged"},
		{strings.Repeat("\xff", 100), "metadata length"},
	} {
		_, err := NewReader(strings.NewReader(c.data), "y")
		if err == nil || !strings.HasPrefix(err.Error(), "y: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c.data, err, c.want)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("a directory opens")
	}
}

// foreign writes a stream with Arrow itself, as another program would.
func foreign(t testing.TB, schema *arrow.Schema, json string, options ...ipc.Option) []byte {
	t.Helper()
	record, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(json))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := ipc.NewWriter(&out, append(options, ipc.WithSchema(schema))...)
	if err := w.Write(record); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestForeignFiles(t *testing.T) {
	i32, u8, i64 := arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Int64
	field := func(name string, t arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: t, Nullable: true}
	}
	tokens := field("tokens", arrow.ListOf(i32))
	for _, c := range []struct {
		fields []arrow.Field
		meta   map[string]string
		json   string
		want   string // the error, or the first example
	}{
		{[]arrow.Field{tokens}, nil, `[{"tokens":[1,2]}]`, "{0 [1 2] [] -1 }"},
		{[]arrow.Field{field("id", arrow.BinaryTypes.String), tokens, field("label", i32)}, nil, `[{"id":"a","tokens":[5],"label":3}]`, "{0 [5] [] 3 a}"},
		{[]arrow.Field{field("tokens", arrow.ListOf(i64))}, nil, `[{"tokens":[1]}]`, "column tokens: expected list<uint8>, list<uint16> or list<int32>, found list<item: int64"},
		{[]arrow.Field{field("tokens", arrow.BinaryTypes.String)}, nil, `[{"tokens":"a"}]`, "found utf8"},
		{[]arrow.Field{field("tokens", arrow.LargeListOf(u8))}, nil, `[{"tokens":[1]}]`, "found large_list"},
		{[]arrow.Field{tokens, field("label", i64)}, nil, `[{"tokens":[1],"label":1}]`, "column label: expected int32, found int64"},
		{[]arrow.Field{field("token", arrow.ListOf(i32))}, nil, `[{"token":[1]}]`, `column tokens: expected for task classification, found only the columns "token"`},
		{[]arrow.Field{field("tokens_a", arrow.ListOf(i32))}, nil, `[{"tokens_a":[1]}]`, "column tokens_b: expected for task retrieval"},
		{[]arrow.Field{tokens, tokens}, nil, `[]`, "column tokens: expected once, found 2 times"},
		{[]arrow.Field{tokens, field("edges", i32)}, nil, `[]`, "column edges: the name is reserved"},
		{[]arrow.Field{tokens}, nil, `[{"tokens":[1]},{"tokens":null}]`, "record batch 0: row 1, column tokens: expected a sequence, found null"},
		{[]arrow.Field{tokens}, nil, `[{"tokens":[1]},{"tokens":[]}]`, "row 1, column tokens: expected at least one token"},
		{[]arrow.Field{tokens}, nil, `[{"tokens":[1,2]},{"tokens":[3,null]}]`, "row 1, column tokens, index 1: expected a token, found null"},
		{[]arrow.Field{tokens}, nil, `[{"tokens":[1,2]},{"tokens":[3,-4]}]`, "row 1, column tokens, index 1: expected a token id from 0 on, found -4"},
		{[]arrow.Field{tokens}, map[string]string{"vocab_size": "5"}, `[{"tokens":[1,5]}]`, "index 1: expected a token id below the vocabulary's size 5, found 5"},
		{[]arrow.Field{tokens}, map[string]string{"vocab_size": "5", "pad_token_id": "3"}, `[{"tokens":[3]}]`, "index 0: the pad id 3"},
		{[]arrow.Field{tokens}, map[string]string{"vocab_size": "0"}, `[]`, "vocab_size: expected 1 to"},
		{[]arrow.Field{tokens}, map[string]string{"vocab_size": "9223372036854775808"}, `[]`, "vocab_size: expected 1 to"},
		{[]arrow.Field{tokens}, map[string]string{"task": "song"}, `[]`, `task: expected classification or retrieval, found "song"`},
		{[]arrow.Field{tokens}, map[string]string{"task": "retrieval"}, `[]`, "column tokens_a: expected"},
		{[]arrow.Field{tokens}, map[string]string{"version": "2"}, `[]`, `first_token_id: it is missing, where version is "2"`},
		{[]arrow.Field{tokens}, map[string]string{"version": "3"}, `[]`, `version: expected "1" or "2", found "3"`},
		{[]arrow.Field{tokens}, map[string]string{"first_token_id": "1"}, `[{"tokens":[-1,-2]}]`, "index 1: expected a token id from 0 on, found -1"},
		{[]arrow.Field{tokens}, map[string]string{"first_token_id": "7"}, `[{"tokens":[0,3]}]`, "{0 [7 10] [] -1 }"},
		{[]arrow.Field{tokens}, map[string]string{"first_token_id": "1", "vocab_size": "5"}, `[{"tokens":[3,4]}]`, "index 1: expected a token id below the vocabulary's size 5, found 5"},
		{[]arrow.Field{tokens}, map[string]string{"first_token_id": "1", "vocab_size": "5", "pad_token_id": "3"}, `[{"tokens":[3,2]}]`, "index 1: the pad id 3"},
		{[]arrow.Field{tokens}, map[string]string{"first_token_id": "2147483647"}, `[{"tokens":[0,1]}]`, "index 1: expected a token id"},
		{[]arrow.Field{tokens}, map[string]string{"first_token_id": "2147483648"}, `[]`, "first_token_id: expected 0 to"},
		{[]arrow.Field{tokens}, map[string]string{"first_token_id": "-1"}, `[]`, "first_token_id: expected 0 to"},
		{[]arrow.Field{tokens}, map[string]string{"first_token_id": "one"}, `[]`, `first_token_id: expected 0 to 2147483647, found "one"`},
		{[]arrow.Field{tokens}, map[string]string{"label_names": "[1]"}, `[]`, "label_names: expected a JSON list"},
		{[]arrow.Field{tokens}, map[string]string{"tokenizer": "listops"}, `[]`, "tokenizer: expected a JSON object"},
		{[]arrow.Field{field("tokens", &arrow.DictionaryType{IndexType: i32, ValueType: u8})}, nil, `[{"tokens":1}]`, "found dictionary"},
		{[]arrow.Field{tokens, field("word", &arrow.DictionaryType{IndexType: i32, ValueType: u8})}, nil, `[{"tokens":[1],"word":1}]`, "dictionary-encoded columns are not supported"},
	} {
		metadata := arrow.MetadataFrom(c.meta)
		data := foreign(t, arrow.NewSchema(c.fields, &metadata), c.json)
		got, _, err := readAll(bytes.NewReader(data))
		found := fmt.Sprint(err)
		if err == nil && len(got) > 0 {
			found = fmt.Sprint(got[0])
		}
		if !strings.Contains(found, c.want) {
			t.Errorf("%s %v: %s, want %s", c.json, c.meta, found, c.want)
		}
	}
}

func TestCompressed(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "tokens", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32)}}, nil)
	json := `[{"tokens":[` + strings.Repeat("7,", 5000) + `8]}]`
	for name, codec := range map[string]ipc.Option{"LZ4": ipc.WithLZ4(), "ZSTD": ipc.WithZstd()} {
		data := foreign(t, schema, json, codec)
		got, _, err := readAll(bytes.NewReader(data))
		if err != nil || len(got) != 1 || len(got[0].A) != 5001 || got[0].A[5000] != 8 {
			t.Errorf("%s: %v", name, err)
		}
		// A buffer that states more than its bytes can hold.
		at := bytes.Index(data, binary.LittleEndian.AppendUint64(nil, 4*5001))
		if at < 0 {
			t.Fatal("no size found")
		}
		for _, size := range []uint64{1 << 63, 1 << 40, 1 << 29} {
			binary.LittleEndian.PutUint64(data[at:], size)
			if _, _, err := readAll(bytes.NewReader(data)); err == nil || !strings.Contains(err.Error(), "after decompression") {
				t.Errorf("%s, size %d: error %v", name, size, err)
			}
		}
	}
}

// TestZSTDWindow: a frame that asks for more memory than it needs is refused.
func TestZSTDWindow(t *testing.T) {
	for text, want := range map[string]string{
		"\x28\xb5\x2f\xfd\x00\xc8":                          "a window of 34359738368", // 2^35
		"\x28\xb5\x2f\xfd\xa0\x00\x00\x00\x10":              "its frame 268435456",
		"\x28\xb5\x2f\xfd\xa0\x05\x00\x00\x00\x23\x03\x00x": "its frame 5 ", // whose block holds 100
		"\x28\xb5\x2f":       "",
		"not a frame at all": "",
	} {
		buffer := append(binary.LittleEndian.AppendUint64(nil, 100), text...)
		if _, err := inflated(buffer, codecZSTD); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestZSTDBlocks: what frames can hold, by their blocks, is never less than they do, and a
// frame that states more is refused before memory is taken for it.
func TestZSTDBlocks(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 300<<10)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	skippable := append([]byte("\x50\x2a\x4d\x18"), 3, 0, 0, 0, 1, 2, 3)
	for name, text := range map[string][]byte{"nothing": nil, "a byte": {7}, "zeros": make([]byte, 1<<20), "noise": noise, "text": []byte(strings.Repeat("a few words, ", 40000))} {
		for _, checksum := range []bool{false, true} {
			w, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(checksum), zstd.WithZeroFrames(true))
			if err != nil {
				t.Fatal(err)
			}
			frame := w.EncodeAll(text, nil)
			w.Close()
			mostOf := func(frames []byte) int64 {
				n, err := zstdMost(frames, int64(len(text)))
				if err != nil && len(frames) > 20 {
					t.Errorf("%s: %v", name, err)
				}
				return n
			}
			one := mostOf(frame)
			if least := int64(len(text)); one < least || one > least+128<<10 {
				t.Errorf("%s: %d bytes, said to be at most %d", name, least, one)
			}
			if several := mostOf(slices.Concat(frame, skippable, frame, frame[:len(frame)-1])); several < 2*one || several > 3*one {
				t.Errorf("%s: one frame holds at most %d bytes, three at most %d", name, one, several)
			}
			for n := range min(len(frame), 1000) {
				if mostOf(frame[:n]) > one {
					t.Errorf("%s: %d bytes of the frame hold more than all", name, n)
				}
			}
		}
	}
	// A single segment of 512 MiB, whose only block is five bytes as they are.
	const size = 512 << 20
	const frame = "\x28\xb5\x2f\xfd\xa0\x00\x00\x00\x20\x29\x00\x00abcde"
	buffer := append(binary.LittleEndian.AppendUint64(nil, size), frame...)
	if _, err := inflated(buffer, codecZSTD); err == nil || !strings.Contains(err.Error(), "states 536870912 bytes after decompression, its blocks hold at most 5") {
		t.Error(err)
	}
	// It asks for as much behind frames that ask for nothing.
	for _, front := range []string{"\x50\x2a\x4d\x18\x00\x00\x00\x00", "\x28\xb5\x2f\xfd\x00\x00\x01\x00\x00"} {
		buffer := append(binary.LittleEndian.AppendUint64(nil, 5), front+frame...)
		if _, err := inflated(buffer, codecZSTD); err == nil || !strings.Contains(err.Error(), "its frame 536870912") {
			t.Errorf("behind %x: %v", front, err)
		}
	}
}

func TestRowsOfSlicedRecord(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "tokens", Type: arrow.ListOf(arrow.PrimitiveTypes.Uint8), Nullable: true}}, nil)
	record, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(`[{"tokens":[1]},{"tokens":null},{"tokens":[2,3]},{"tokens":[4]}]`))
	if err != nil {
		t.Fatal(err)
	}
	spec := &Spec{Task: Classification}
	if _, err := RowsOf(record, spec); err == nil {
		t.Error("a null row passes")
	}
	rows, err := RowsOf(record.NewSlice(2, 4), spec)
	if err != nil {
		t.Fatal(err)
	}
	if rows.Len() != 2 || !reflect.DeepEqual(rows.Tokens(0, nil), []int32{2, 3}) || rows.Length(1) != 1 {
		t.Errorf("%v", rows.Tokens(0, nil))
	}
}
