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

// TestStreamGrows checks that for any truncation, a stream has its complete batches and the offset
// after them, where more may follow.
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
		t.Fatalf("ends %v, %v", ends, err)
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
			t.Errorf("cut to %d bytes: %d batches up to %d, %v; want %d up to %d", n, len(got), good, err, k, ends[k])
		}
	}
	again := slices.Concat(data, []byte(EndMarker), []byte("more"))
	if s, err := NewStream(bytes.NewReader(again)); err != nil {
		t.Error(err)
	} else if got, err := rest(s); err != nil || len(got) != len(want) {
		t.Errorf("%d batches, %v", len(got), err)
	}
}

// TestFileOrStream checks that both formats are read to their end, and nothing may follow.
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
			t.Errorf("file %v: %v, %v", isFile, got, err)
		}
		must.Fail(t, "", "file", isFile, "one byte more")(read(append(bytes.Clone(data), 0)))
		must.Fail(t, "", "file", isFile, "one byte less")(read(data[:len(data)-1]))
	}
}

// footerOnly returns a file without its schema at the beginning.
func footerOnly(t testing.TB) []byte {
	data, _ := sample(t, true)
	schema := must.Get(NewStream(bytes.NewReader(data[len(fileStart):])))(t)
	clear(data[len(fileStart) : int64(len(fileStart))+schema.Offset()]) // the offsets of the blocks are unchanged
	return data
}

// TestFooterOnly checks that if only the footer has the schema, the batches are found by the
// footer.
func TestFooterOnly(t *testing.T) {
	data := footerOnly(t)
	_, want := sample(t, true)
	s := must.Get(NewFileOrStream(bytes.NewReader(data), section(data)))(t)
	if got, err := rest(s); err != nil || !slices.EqualFunc(got, want, array.RecordEqual) {
		t.Errorf("%v, %v", got, err)
	}
	must.Fail(t, "the file has its schema only at its end",
		"through a pipe")(NewFileOrStream(bytes.NewReader(data), nil))
	for n := len(fileStart); n < len(data); n++ {
		if s, err := NewFileOrStream(bytes.NewReader(data[:n]), section(data[:n])); err == nil {
			must.Fail(t, "", "cut to", n, "of", len(data), "bytes")(rest(s))
		}
	}
}

// TestDictionaries checks that a stream may have dictionaries, a data set's file may not.
func TestDictionaries(t *testing.T) {
	words := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	schema := arrow.NewSchema([]arrow.Field{{Name: "word", Type: words}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	var want []arrow.Record
	for _, values := range [][]string{{"a", "b", "a"}, {"c", "a"}} { // the second has another dictionary
		column := b.Field(0).(*array.BinaryDictionaryBuilder)
		for _, v := range values {
			must.Succeed(t, column.AppendString(v))
		}
		want = append(want, b.NewRecord())
	}
	data := written(t, false, want, ipc.WithDictionaryDeltas(true))
	s := must.Get(NewFileOrStream(bytes.NewReader(data), nil))(t)
	got, err := rest(s)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d batches, %v", len(got), err)
	}
	for i, r := range got {
		for row := range int(r.NumRows()) {
			if a, b := r.Column(0).ValueStr(row), want[i].Column(0).ValueStr(row); a != b {
				t.Errorf("batch %d, row %d: %q, want %q", i, row, a, b)
			}
		}
	}
	must.Fail(t, "dictionary-encoded columns are not supported")(readAll(data))
}

// others returns small files and streams of other programs.
func others(t testing.TB) (data [][]byte) {
	paths, err := filepath.Glob("../table/testdata/others/*.arrow*")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%v, %v", paths, err)
	}
	for _, path := range paths {
		text := must.Get(os.ReadFile(path))(t)
		if len(text) < 10<<10 {
			data = append(data, text)
		}
	}
	return data
}

// TestOthers checks that files and streams of other programs are read to their end.
func TestOthers(t *testing.T) {
	for i, data := range others(t) {
		s, err := NewFileOrStream(bytes.NewReader(data), section(data))
		if err != nil {
			t.Errorf("%d: %v", i, err)
			continue
		}
		if got, err := rest(s); err != nil || len(got) == 0 {
			t.Errorf("%d: %d batches, %v", i, len(got), err)
		}
	}
}
