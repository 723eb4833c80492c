package arrowipc

import (
	"bytes"
	"encoding/binary"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sftseq/sftseq/internal/must"
)

// writeRecords returns records encoded as a file or as a stream. The options apply only to a stream.
func writeRecords(t testing.TB, isFile bool, records []arrow.Record, options ...ipc.Option) []byte {
	t.Helper()
	var out bytes.Buffer
	var w interface {
		Write(arrow.Record) error
		Close() error
	}
	schema := records[0].Schema()
	if isFile {
		file := must.Get(NewFileWriter(&out, schema))(t)
		w = file
	} else {
		w = ipc.NewWriter(&out, append(options, ipc.WithSchema(schema))...)
	}
	for _, r := range records {
		must.Succeed(t, w.Write(r))
	}
	must.Succeed(t, w.Close())
	return out.Bytes()
}

// sample returns a small file or stream of two record batches, and the batches.
func sample(t testing.TB, isFile bool) ([]byte, []arrow.Record) {
	t.Helper()
	metadata := arrow.NewMetadata([]string{"task", "vocab_size"}, []string{"classification", "17"})
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "tokens", Type: arrow.ListOf(arrow.PrimitiveTypes.Uint8)},
		{Name: "label", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "id", Type: arrow.BinaryTypes.String, Nullable: true},
	}, &metadata)
	var records []arrow.Record
	for _, rows := range []string{
		`[{"tokens":[1,2,3],"label":4,"id":"a"},{"tokens":[5],"label":null,"id":"é"},{"tokens":[6,7],"label":0,"id":null}]`,
		`[{"tokens":[8,9,10,11],"label":1,"id":"long"},{"tokens":[12],"label":2,"id":""}]`,
	} {
		record, _ := must.Get2(array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows)))(t)
		records = append(records, record)
	}
	return writeRecords(t, isFile, records), records
}

// readAll reads all records of a file or stream with a Reader.
func readAll(data []byte) (records []arrow.Record, err error) {
	r, err := NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return rest(r)
}

// rest returns all remaining records, or those before the error.
func rest(r interface{ Next() (arrow.Record, error) }) (records []arrow.Record, err error) {
	for {
		record, err := r.Next()
		if err == io.EOF {
			return records, nil
		}
		if err != nil {
			return records, err
		}
		records = append(records, record)
	}
}

// TestReader checks that both formats return the records that were written.
func TestReader(t *testing.T) {
	for _, isFile := range []bool{true, false} {
		data, want := sample(t, isFile)
		got, err := readAll(data)
		if err != nil || !slices.EqualFunc(got, want, array.RecordEqual) {
			t.Errorf("file %v: got %v, error %v, want %v", isFile, got, err, want)
		}
		r := must.Get(NewReader(bytes.NewReader(data)))(t, "file", isFile)
		if r.IsFile() != isFile || !r.Schema().Equal(want[0].Schema()) {
			t.Errorf("NewReader: got file %v and schema %v, want file %v and schema %v", r.IsFile(), r.Schema(), isFile,
				want[0].Schema())
		}
	}
}

// TestTruncatedAnywhere checks that a file or a stream is refused if it is truncated anywhere, or if a
// byte follows its end.
func TestTruncatedAnywhere(t *testing.T) {
	for _, isFile := range []bool{true, false} {
		data, _ := sample(t, isFile)
		for n := range data {
			must.Fail(t, "", "file", isFile, "cut to", n, "of", len(data), "bytes")(readAll(data[:n]))
		}
		must.Fail(t, "", "file", isFile, "one byte more")(readAll(append(bytes.Clone(data), 0)))
	}
}

// TestBitFlips checks that a file or a stream with a flipped bit is either refused or has batches with
// the same numbers of rows.
func TestBitFlips(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 7 // at least one bit of each byte
	}
	for _, isFile := range []bool{true, false} {
		data, want := sample(t, isFile)
		for bit := 0; bit < 8*len(data); bit += step {
			flipped := bytes.Clone(data)
			flipped[bit/8] ^= 1 << (bit % 8)
			got, err := readAll(flipped)
			if err != nil {
				if strings.Contains(err.Error(), "runtime error") {
					t.Errorf("file %v: bit %d: got error %v, want one without a runtime error", isFile, bit, err)
				}
				continue
			}
			if !slices.EqualFunc(got, want, func(a, b arrow.Record) bool { return a.NumRows() == b.NumRows() }) {
				t.Errorf("file %v: bit %d: got other numbers of rows, want an error", isFile, bit)
			}
		}
	}
}

// TestHugeSizes checks that a huge number at any aligned word causes no panic, and that a read allocates
// little memory on average.
func TestHugeSizes(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	reads := 0
	for _, isFile := range []bool{true, false} {
		data, _ := sample(t, isFile)
		for _, number := range []uint64{1 << 63, 1<<40 - 8, 1<<30 - 8} {
			for at := 0; at+8 <= len(data); at += 4 {
				for _, width := range []int{4, 8} {
					bad := bytes.Clone(data)
					if width == 4 {
						binary.LittleEndian.PutUint32(bad[at:], uint32(number))
					} else {
						binary.LittleEndian.PutUint64(bad[at:], number)
					}
					readAll(bad)
					if s, err := NewFileOrStream(bytes.NewReader(bad), section(bad)); err == nil {
						rest(s)
					}
					reads += 2
				}
			}
		}
	}
	runtime.ReadMemStats(&after)
	if perRead := (after.TotalAlloc - before.TotalAlloc) / uint64(reads); perRead > 3<<20 {
		t.Errorf("reading a small file allocates %d bytes on average, want at most 3 MiB", perRead)
	}
}

func section(data []byte) *io.SectionReader {
	return io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data)))
}

// TestNotArrow checks the errors for files in other formats, and for truncated and damaged first
// messages.
func TestNotArrow(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"", "found an empty file"},
		{"A", `begins with "A"`},
		{"Source\tTarget\n( [MAX 1 ) ] )\t1\n",
			`expected an Arrow IPC file or stream, found data that begins with "Source\tT"`},
		{"ARROW1", "begins with"},
		{"ARROW1\x00\x00", "the file is truncated: it ends before the schema: copy or create it again"},
		{"ARROW1\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00", "expected a schema as the first message, found none"},
		{"\xff\xff\xff\xff\x00\x00\x00\x80", "metadata length"},
		{"\xff\xff\xff\xff\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "metadata is damaged"},
		{strings.Repeat("\xff", 100), "metadata length"},
	} {
		must.Fail(t, c.want, c.data)(NewReader(strings.NewReader(c.data)))
	}
}

// TestPlaces checks that batches can be read again in any order, but not if their bytes have
// changed.
func TestPlaces(t *testing.T) {
	for _, isFile := range []bool{true, false} {
		data, want := sample(t, isFile)
		r := must.Get(NewReader(bytes.NewReader(data)))(t)
		places := r.Places()
		if _, err := rest(r); err != nil || places.Len() != len(want) {
			t.Fatalf("file %v: got %d locations, error %v, want %d", isFile, places.Len(), err, len(want))
		}
		for _, i := range []int{1, 0, 1} {
			record, size, err := places.Read(bytes.NewReader(data), i)
			if err != nil || size <= 0 || !array.RecordEqual(record, want[i]) {
				t.Errorf("file %v, batch %d: got %v with %d bytes, error %v; want %v with more than 0 bytes", isFile, i,
					record, size, err, want[i])
			}
		}
		from, to := places.Bytes(1)
		for at := from; at < to; at++ {
			damaged := bytes.Clone(data)
			damaged[at] ^= 1
			must.Fail(t, "changed", "byte", at)(places.Read(bytes.NewReader(damaged), 1))
		}
		must.FailWith(t, io.ErrUnexpectedEOF, "cut off")(places.Read(bytes.NewReader(data[:to-1]), 1))
	}
}
