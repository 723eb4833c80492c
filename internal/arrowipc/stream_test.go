package arrowipc

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sftseq/sftseq/internal/must"
)

// TestStreamGrows checks that a stream truncated anywhere after its schema returns its complete batches,
// and that Offset is the end of the last complete batch, where more messages may follow. Bytes after the
// end marker are ignored.
func TestStreamGrows(t *testing.T) {
	data, want := sample(t, false)
	data = bytes.TrimSuffix(data, []byte(EndMarker))
	var ends []int64
	whole, err := NewStream(bytes.NewReader(data))
	for err == nil {
		ends = append(ends, whole.Offset())
		_, err = whole.Next()
	}
	if err != io.EOF || len(ends) != 1+len(want) {
		t.Fatalf("got offsets %v, error %v, want %d offsets and io.EOF", ends, err, 1+len(want))
	}
	for n := ends[0]; n <= int64(len(data)); n++ {
		s, err := NewStream(bytes.NewReader(data[:n]))
		must.Succeed(t, err)
		var got []arrow.Record
		good := s.Offset()
		for {
			record, wrong := s.Next()
			if err = wrong; err != nil {
				break
			}
			got, good = append(got, record), s.Offset()
		}
		k := 0
		for k+1 < len(ends) && ends[k+1] <= n {
			k++
		}
		if !slices.EqualFunc(got, want[:k], array.RecordEqual) || good != ends[k] || (err == io.EOF) != (n == ends[k]) {
			t.Errorf("truncated to %d bytes: got %d batches up to %d, error %v; want %d up to %d",
				n, len(got), good, err, k, ends[k])
		}
	}
	again := slices.Concat(data, []byte(EndMarker), []byte("more"))
	if s, err := NewStream(bytes.NewReader(again)); err != nil {
		t.Error(err)
	} else if got, err := rest(s); err != nil || len(got) != len(want) {
		t.Errorf("bytes after the end marker: got %d batches, error %v, want %d", len(got), err, len(want))
	}
}

// TestFileOrStream checks that both formats are read to their end, and that bytes after the end are
// refused.
func TestFileOrStream(t *testing.T) {
	for _, isFile := range []bool{true, false} {
		data, want := sample(t, isFile)
		read := func(data []byte) ([]arrow.Record, error) {
			s, err := NewFileOrStream(bytes.NewReader(data), nil)
			if err != nil {
				return nil, err
			}
			return rest(s)
		}
		if got, err := read(data); err != nil || !slices.EqualFunc(got, want, array.RecordEqual) {
			t.Errorf("file %v: got %v, error %v, want %v", isFile, got, err, want)
		}
		must.Fail(t, "", "file", isFile, "one byte more")(read(append(bytes.Clone(data), 0)))
		must.Fail(t, "", "file", isFile, "one byte less")(read(data[:len(data)-1]))
	}
}

// footerOnly returns a file without its schema at the beginning.
func footerOnly(t testing.TB) []byte {
	data, _ := sample(t, true)
	schema := must.Get(NewStream(bytes.NewReader(data[len(fileStart):])))(t)
	clear(data[len(fileStart) : int64(len(fileStart))+schema.Offset()]) // the blocks keep their offsets
	return data
}

// TestFooterOnly checks that a file whose schema is only in the footer can be read, but not
// from a pipe, and not if it is truncated.
func TestFooterOnly(t *testing.T) {
	data := footerOnly(t)
	_, want := sample(t, true)
	s := must.Get(NewFileOrStream(bytes.NewReader(data), section(data)))(t)
	if got, err := rest(s); err != nil || !slices.EqualFunc(got, want, array.RecordEqual) {
		t.Errorf("got %v, error %v, want %v", got, err, want)
	}
	must.Fail(t, "the schema is only in the footer",
		"through a pipe")(NewFileOrStream(bytes.NewReader(data), nil))
	for n := len(fileStart); n < len(data); n++ {
		if s, err := NewFileOrStream(bytes.NewReader(data[:n]), section(data[:n])); err == nil {
			must.Fail(t, "", "cut to", n, "of", len(data), "bytes")(rest(s))
		}
	}
}

// TestDictionaries checks that a Stream reads dictionaries, and that a Reader refuses them.
func TestDictionaries(t *testing.T) {
	words := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	schema := arrow.NewSchema([]arrow.Field{{Name: "word", Type: words}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	var want []arrow.Record
	for _, values := range [][]string{{"a", "b", "a"}, {"c", "a"}} { // the second batch adds a word to the dictionary
		column := b.Field(0).(*array.BinaryDictionaryBuilder)
		for _, v := range values {
			must.Succeed(t, column.AppendString(v))
		}
		want = append(want, b.NewRecord())
	}
	data := writeRecords(t, false, want, ipc.WithDictionaryDeltas(true))
	s := must.Get(NewFileOrStream(bytes.NewReader(data), nil))(t)
	got, err := rest(s)
	if err != nil || len(got) != len(want) {
		t.Fatalf("got %d batches, error %v, want %d", len(got), err, len(want))
	}
	for i, r := range got {
		for row := range int(r.NumRows()) {
			if a, b := r.Column(0).ValueStr(row), want[i].Column(0).ValueStr(row); a != b {
				t.Errorf("batch %d, row %d: got %q, want %q", i, row, a, b)
			}
		}
	}
	must.Fail(t, "dictionary-encoded columns are not supported")(readAll(data))
}

// otherFiles returns small files and streams that other programs wrote.
func otherFiles(t testing.TB) (data [][]byte) {
	paths, err := filepath.Glob("../table/testdata/others/*.arrow*")
	if err != nil || len(paths) < 10 {
		t.Fatalf("got files %v, error %v, want at least 10", paths, err)
	}
	for _, path := range paths {
		text := must.Get(os.ReadFile(path))(t)
		if len(text) < 10<<10 {
			data = append(data, text)
		}
	}
	return data
}

// TestOtherFiles checks that files and streams of other programs are read to their end.
func TestOtherFiles(t *testing.T) {
	for i, data := range otherFiles(t) {
		s, err := NewFileOrStream(bytes.NewReader(data), section(data))
		if err != nil {
			t.Errorf("source %d: %v", i, err)
			continue
		}
		if got, err := rest(s); err != nil || len(got) == 0 {
			t.Errorf("source %d: got %d batches, error %v, want at least 1", i, len(got), err)
		}
	}
}
