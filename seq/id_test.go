package seq

import (
	"bytes"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sftseq/sftseq/internal/must"
)

// TestIDs checks that rows with ids are read back unchanged, and that the ids are left out if the
// specification has no ids.
func TestIDs(t *testing.T) {
	for _, task := range []string{Classification, Retrieval} {
		for _, format := range []Format{FileFormat, StreamFormat} {
			spec := listopsSpec()
			spec.Task, spec.IDs = task, true
			rows := examples(3000, 20, spec, 3)
			got, read, err := readAll(bytes.NewReader(encode(t, rows, spec, format)))
			if err != nil || !reflect.DeepEqual(got, rows) || !reflect.DeepEqual(*read, spec) {
				t.Fatalf("%s, format %d: error %v, or the rows or the specification differ", task, format, err)
			}
			spec.IDs = false
			got, read, err = readAll(bytes.NewReader(encode(t, rows, spec, format)))
			if err != nil || got[3].ID != "" || read.IDs {
				t.Fatalf("%s, format %d: error %v, or the file without ids has ids", task, format, err)
			}
		}
	}
}

// TestIDsAreNotKept checks that random access returns rows without ids and keeps no ids in memory.
func TestIDsAreNotKept(t *testing.T) {
	for _, task := range []string{Classification, Retrieval} {
		spec := listopsSpec()
		spec.Task = task
		rows := examples(3000, 20, spec, 3)
		for i := range rows {
			rows[i].ID = strings.Repeat("long", 100)
		}
		var sizes [2]int64
		for i, ids := range []bool{false, true} {
			spec.IDs = ids
			path := filepath.Join(t.TempDir(), "x.arrow")
			w := must.Get(Create(path, spec))(t)
			for _, row := range rows {
				must.Succeed(t, w.Write(row))
			}
			must.Succeed(t, w.Close())
			f := must.Get(OpenWindow(path, Window{Length: 15}))(t)
			defer f.Close()
			for at, want := range rows {
				got, err := f.Example(at)
				want.A, want.B, want.ID = want.A[:min(15, len(want.A))], want.B[:min(15, len(want.B))], ""
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("%s, row %d: %v, error %v; want %v", task, at, got, err, want)
				}
			}
			sizes[i] = f.cache.size
			for _, e := range f.cache.entries {
				if cached := e.Value.(*cached).rows; ids && (cached.record.NumCols() > 0 || cached.ids != nil) {
					t.Fatalf("%s: the cache holds the record with its ids, want copies of the other columns", task)
				}
			}
		}
		if sizes[1] > sizes[0]+sizes[0]/4 {
			t.Errorf("%s: the cache takes %d bytes for a file without ids and %d for a file with ids, want at most "+
				"25%% more", task, sizes[0], sizes[1])
		}
	}
}

// TestForeignIDs checks that ids are read from columns of Arrow's types utf8 and large_utf8. Columns of
// other types are ignored, and damaged columns are refused.
func TestForeignIDs(t *testing.T) {
	list := arrow.ListOf(arrow.PrimitiveTypes.Uint8)
	for _, c := range []struct {
		kind arrow.DataType
		json string
		want string // the ids, or a part of the error
	}{
		{arrow.BinaryTypes.String, `["a", null, ""]`, "[a  ]"},
		{arrow.BinaryTypes.LargeString, `["a", "bc", "é"]`, "[a bc é]"},
		{arrow.PrimitiveTypes.Int64, `[7, null, 9]`, "[  ]"},
		{arrow.ListOf(arrow.BinaryTypes.String), `[["a"], null, []]`, "[  ]"},
	} {
		ids, _ := must.Get2(array.FromJSON(memory.DefaultAllocator, c.kind, strings.NewReader(c.json)))(t)
		tokens, _ := must.Get2(array.FromJSON(memory.DefaultAllocator, list, strings.NewReader(`[[1],[2],[3]]`)))(t)
		schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: c.kind, Nullable: true},
			{Name: "tokens", Type: list}}, nil)
		var out bytes.Buffer
		w := ipc.NewWriter(&out, ipc.WithSchema(schema))
		must.Succeed(t, w.Write(array.NewRecord(schema, []arrow.Array{ids, tokens}, 3)))
		w.Close()
		rows, _, err := readAll(bytes.NewReader(out.Bytes()))
		var got []string
		for _, r := range rows {
			got = append(got, r.ID)
		}
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%s: ids %q, error %v; want %s", c.kind, got, err, c.want)
		}
		if c.kind.ID() != arrow.LARGE_STRING {
			continue
		}
		for from, to := range map[string]string{"abc\xc3\xa9": "abc\xc3\xff",
			"\x01\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00": "\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"} {
			bad := bytes.Replace(out.Bytes(), []byte(from), []byte(to), 1)
			if _, _, err := readAll(bytes.NewReader(bad)); err == nil ||
				!strings.Contains(strings.ReplaceAll(err.Error(), `"`, ""), "column id") {
				t.Errorf("changed bytes %q: error %v, want one about the column id", to, err)
			}
		}
	}
}

// TestBadIDs checks that a block refuses invalid ids and accepts the next row.
func TestBadIDs(t *testing.T) {
	spec := Spec{Task: Classification, VocabSize: 257, PadID: new(int32), IDs: true}
	b := NewBlock(&spec)
	for id, want := range map[string]string{"\xff": "column id: expected UTF-8",
		strings.Repeat("a", maxID+1): "column id: expected at most 1048576 bytes"} {
		for _, err := range []error{b.Append(Example{A: []int32{1}, ID: id}), b.AppendBytes("a", "", Example{ID: id})} {
			must.Fail(t, want, id)(err)
		}
	}
	if err := b.Append(Example{A: []int32{1}, ID: "a"}); err != nil || b.Rows() != 1 {
		t.Errorf("error %v, %d rows; want 1 row", err, b.Rows())
	}
}
