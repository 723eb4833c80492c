package seq

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

func listopsSpec() Spec {
	names := strings.Split("0123456789", "")
	return Spec{Task: Classification, Name: "listops", Tokenizer: json.RawMessage(`{"type":"listops"}`),
		VocabSize: 17, PadID: new(int32), LabelNames: names, Split: "train"}
}

// examples returns n random rows. The parameter longest is the maximum length of their sequences.
func examples(n, longest int, spec Spec, seed uint64) []Example {
	random := rand.New(rand.NewPCG(seed, 1))
	tokens := func() []int32 {
		ids := make([]int32, 1+random.IntN(longest))
		for i := range ids {
			ids[i] = 1 + random.Int32N(int32(spec.VocabSize)-1)
		}
		return ids
	}
	rows := make([]Example, n)
	for i := range rows {
		rows[i] = Example{Index: uint32(i), A: tokens(), Label: random.Int32N(2)}
		if spec.Pair() {
			rows[i].B = tokens()
		}
		if i%7 == 3 {
			rows[i].Label = NoLabel
		}
		if spec.IDs && i%5 > 0 {
			rows[i].ID = fmt.Sprintf("é%d", i)
		}
	}
	return rows
}

// encode returns the rows as a file or stream.
func encode(t testing.TB, rows []Example, spec Spec, format Format) []byte {
	t.Helper()
	var out bytes.Buffer
	w := must.Get(NewWriter(&out, spec, format))(t)
	for _, row := range rows {
		must.Succeed(t, w.Write(row))
	}
	must.Succeed(t, w.Close())
	return out.Bytes()
}

// readAll returns the rows and the specification of a file or stream.
func readAll(r io.Reader) ([]Example, *Spec, error) {
	reader, err := NewReader(r, "x.arrow")
	if err != nil {
		return nil, nil, err
	}
	var all []Example
	for {
		rows, err := reader.Next()
		if err == io.EOF {
			return all, reader.Spec(), nil
		}
		if err != nil {
			return nil, nil, err
		}
		for i := range rows.Len() {
			all = append(all, rows.Example(i))
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for _, format := range []Format{FileFormat, StreamFormat} {
		for _, vocab := range []int{2, 17, 256, 257, 65536, 65537, 1 << 30} {
			for _, task := range []string{Classification, Retrieval} {
				spec := listopsSpec()
				spec.Task, spec.VocabSize = task, vocab
				rows := examples(1500, 60, spec, 1)
				got, gotSpec := must.Get2(readAll(bytes.NewReader(encode(t, rows, spec, format))))(t)
				if !reflect.DeepEqual(got, rows) {
					t.Errorf("format %d, vocabulary %d, %s: rows differ", format, vocab, task)
				}
				if !reflect.DeepEqual(gotSpec, &spec) {
					t.Errorf("specification %+v was read back as %+v", spec, gotSpec)
				}
			}
		}
	}
}

func TestEmptyFileHasNoRows(t *testing.T) {
	for _, format := range []Format{FileFormat, StreamFormat} {
		got, _, err := readAll(bytes.NewReader(encode(t, nil, listopsSpec(), format)))
		if err != nil || len(got) != 0 {
			t.Errorf("%d rows, want none; error %v", len(got), err)
		}
	}
}

func TestMinimalSpec(t *testing.T) {
	spec := Spec{Task: Classification}
	rows := []Example{{A: []int32{0, 1 << 30}, Label: 12345}}
	got, gotSpec, err := readAll(bytes.NewReader(encode(t, rows, spec, FileFormat)))
	if err != nil || !reflect.DeepEqual(got, rows) || !reflect.DeepEqual(*gotSpec, spec) {
		t.Errorf("rows %v, specification %+v, error %v; want %v and %+v", got, gotSpec, err, rows, spec)
	}
}

// TestFileRandomAccess checks random access to rows, the row lengths and the size limit of the cache.
func TestFileRandomAccess(t *testing.T) {
	spec := listopsSpec()
	rows := examples(5000, 200, spec, 2)
	for _, format := range []Format{FileFormat, StreamFormat} {
		path := filepath.Join(t.TempDir(), "x.arrow")
		must.Succeed(t, os.WriteFile(path, encode(t, rows, spec, format), 0o666))
		f := must.Get(OpenFile(path))(t)
		defer f.Close()
		f.SetCache(200 << 10) // about three record batches
		if f.batches.Len() < 6 {
			t.Fatalf("the file has %d record batches, want at least 6", f.batches.Len())
		}
		for range 500 {
			i := rand.IntN(len(rows))
			got, err := f.Example(i)
			if err != nil || !reflect.DeepEqual(got, rows[i]) {
				t.Fatalf("row %d: %v, error %v; want %v", i, got, err, rows[i])
			}
			if f.Lengths()[i] != int32(len(rows[i].A)) {
				t.Fatalf("row %d: length %d, want %d", i, f.Lengths()[i], len(rows[i].A))
			}
			if f.cache.size > 200<<10 {
				t.Fatalf("the cache holds %d bytes, want at most 200 KiB", f.cache.size)
			}
		}
		for _, i := range []int{-1, len(rows)} {
			must.Fail(t, "", "row", i)(f.Example(i))
		}
	}
}

// TestFileWindow checks that a window cuts each sequence to its first tokens, including both
// sequences of a pair, and that the lengths agree.
func TestFileWindow(t *testing.T) {
	pairs := listopsSpec()
	pairs.Task = Retrieval
	for _, spec := range []Spec{listopsSpec(), pairs} {
		rows := examples(300, 100, spec, 3)
		path := filepath.Join(t.TempDir(), "x.arrow")
		must.Succeed(t, os.WriteFile(path, encode(t, rows, spec, FileFormat), 0o666))
		f := must.Get(OpenWindow(path, Window{Length: 40}))(t)
		defer f.Close()
		if row, n := f.Longest(); n != 40 || len(rows[row].A) < 40 && len(rows[row].B) < 40 {
			t.Errorf("Longest returns row %d with %d tokens, want 40; its uncut sequences have %d and %d tokens", row,
				n, len(rows[row].A), len(rows[row].B))
		}
		for i, want := range rows {
			want.A, want.B = want.A[:min(40, len(want.A))], want.B[:min(40, len(want.B))]
			got, err := f.Example(i)
			if err != nil || !reflect.DeepEqual(got, want) || int(f.Lengths()[i]) != want.Length() {
				t.Fatalf("row %d: %v of length %d, error %v; want %v", i, got, f.Lengths()[i], err, want)
			}
		}
	}
}

func TestFileChangedWhileOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.arrow")
	data := encode(t, examples(10, 9, listopsSpec(), 3), listopsSpec(), FileFormat)
	must.Succeed(t, os.WriteFile(path, data, 0o666))
	f := must.Get(OpenFile(path))(t)
	defer f.Close()
	must.Succeed(t, os.Truncate(path, 300))
	must.Fail(t, "x.arrow: record batch 0")(f.Example(0))
}

func TestConcurrentExamples(t *testing.T) {
	spec := listopsSpec()
	rows := examples(2000, 100, spec, 4)
	path := filepath.Join(t.TempDir(), "x.arrow")
	must.Succeed(t, os.WriteFile(path, encode(t, rows, spec, FileFormat), 0o666))
	f := must.Get(OpenFile(path))(t)
	defer f.Close()
	f.SetCache(1)
	errs := make(chan error, 4)
	for g := range 4 {
		go func() {
			for i := g; i < len(rows); i += 97 {
				got, err := f.Example(i)
				if err == nil && !reflect.DeepEqual(got, rows[i]) {
					err = io.ErrUnexpectedEOF
				}
				if err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range 4 {
		must.Check(t, <-errs)
	}
}

func TestInspect(t *testing.T) {
	spec := listopsSpec()
	rows := []Example{
		{A: []int32{1}, Label: 3}, {A: []int32{1, 2}, Label: 3}, {A: []int32{1, 2, 3}, Label: 0},
		{A: make7(), Label: NoLabel},
	}
	path := filepath.Join(t.TempDir(), "x.arrow")
	must.Succeed(t, os.WriteFile(path, encode(t, rows, spec, FileFormat), 0o666))
	info := must.Get(inspectPath(path))(t)
	want := Quantiles{Min: 1, P25: 1, P50: 2, P75: 3, P95: 7, Max: 7, Mean: 13.0 / 4}
	if info.Rows != 4 || info.Lengths != want || !info.IsFile || info.Batches != 1 {
		t.Errorf("Inspect returned %+v, want 4 rows in one batch with the lengths %+v", info, want)
	}
	if !reflect.DeepEqual(info.Labels, map[string]int64{"3": 2, "0": 1, Unlabelled: 1}) {
		t.Errorf("labels %v, want 2 of \"3\", 1 of \"0\", 1 unlabelled", info.Labels)
	}
	if info.First == nil || info.First.Label != 3 {
		t.Errorf("first row %v, want label 3", info.First)
	}
}

func make7() []int32 { return []int32{1, 1, 1, 1, 1, 1, 1} }
