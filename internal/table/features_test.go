package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// featureLines are JSON rows with a column of features, and the expected features or errors.
var featureLines = []struct{ json, want string }{
	{`{"points":[[1,2],[3,4.5]]}`, "[[1 2] [3 4.5]]"},
	{`{"points":[[1],[2,3,4]]}`, "[[1] [2 3 4]]"},
	{`{"points":[]}`, "[]"},
	{`{"points":null}`, "none"},
	{`{"points":[[1,2],[3,null]]}`, "column points: index 1: number 1: expected a number, found null"},
	{`{"points":[[1,2],null]}`, "column points: index 1: expected a list of numbers, found null"},
	{`{"points":[[1e39,2]]}`, "column points: index 0: number 0: expected "},
}

// readFeatures returns the values of the column points.
func readFeatures(t *testing.T, path string) (rows []string) {
	t.Helper()
	r, err := Open(context.Background(), path, Options{Columns: []string{"points"}, Features: []string{"points"}})
	must.Succeed(t, err)
	defer r.Close()
	var row Row
	for {
		err := r.Next(&row)
		switch {
		case err == io.EOF:
			return rows
		case err != nil:
			t.Fatal(err)
		case row.Err != nil:
			rows = append(rows, row.Err.Error())
		case row.Values[0].Null:
			rows = append(rows, "none")
		default:
			rows = append(rows, fmt.Sprint(row.Values[0].Features))
		}
	}
}

// TestFeatures checks that lists of lists of numbers are read from JSON, Arrow and Parquet, and that
// nulls within a list and numbers beyond float32 are errors with their position. It also checks the size
// limit of a row.
func TestFeatures(t *testing.T) {
	dir := t.TempDir()
	var lines []string
	for _, l := range featureLines {
		lines = append(lines, l.json)
	}
	check := func(path string) {
		got := readFeatures(t, path)
		if len(got) != len(featureLines) {
			t.Fatalf("%s: got %d rows, want %d", path, len(got), len(featureLines))
		}
		for i, l := range featureLines {
			if !strings.HasPrefix(got[i], l.want) {
				t.Errorf("%s: %s: got %s, want %s", path, l.json, got[i], l.want)
			}
		}
	}
	path := filepath.Join(dir, "a.jsonl")
	must.Succeed(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o666))
	check(path)
	schema := arrow.NewSchema([]arrow.Field{{Name: "points",
		Type: arrow.ListOf(arrow.ListOf(arrow.PrimitiveTypes.Float64)), Nullable: true}}, nil)
	record, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema,
		strings.NewReader("["+strings.Join(lines, ",")+"]"))
	must.Succeed(t, err)
	create := func(name string) *os.File {
		return must.Get(os.Create(filepath.Join(dir, name)))(t)
	}
	f := create("a.arrow")
	w := must.Get(ipc.NewFileWriter(f, ipc.WithSchema(schema)))(t)
	must.Succeed(t, w.Write(record))
	must.Succeed(t, w.Close())
	check(f.Name())
	_, err = Open(context.Background(), f.Name(), Options{Columns: []string{"points"}})
	must.Fail(t, "(read them with --features)", "as text")(err)
	p := create("a.parquet")
	out := must.Get(pqarrow.NewFileWriter(schema, p, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps()))(t)
	must.Succeed(t, out.Write(record))
	must.Succeed(t, out.Close())
	check(p.Name())
	limited, err := Open(context.Background(), f.Name(),
		Options{Columns: []string{"points"}, Features: []string{"points"}, MaxField: 40})
	must.Succeed(t, err)
	defer limited.Close()
	var row Row
	if err := limited.Next(&row); err != nil || row.Err == nil ||
		!strings.Contains(row.Err.Error(), "exceeds the size limit of a row") {
		t.Errorf("a row beyond the limit: got row error %v, error %v, want a row error about the size limit",
			row.Err, err)
	}
	if got := (&Row{Values: []Value{{Features: [][]float32{{1, 2}, {3}}}}}).Size(); !reflect.DeepEqual(got,
		2*tokenBytes+12) {
		t.Errorf("got size %d, want %d", got, 2*tokenBytes+12)
	}
}

// FuzzFeatures checks that any Arrow file of lists of lists of numbers yields finite numbers or
// errors.
func FuzzFeatures(f *testing.F) {
	for _, item := range []arrow.DataType{arrow.ListOf(arrow.PrimitiveTypes.Float64),
		arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)} {
		schema := arrow.NewSchema([]arrow.Field{{Name: "points", Type: arrow.ListOf(item), Nullable: true}}, nil)
		record, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema,
			strings.NewReader(`[{"points":[[1,2],[3,4]]},{"points":null},{"points":[[1,2],null]},{"points":[[5,null]]}]`))
		must.Succeed(f, err)
		var out strings.Builder
		w := ipc.NewWriter(&out, ipc.WithSchema(schema))
		must.Succeed(f, errors.Join(w.Write(record), w.Close()))
		f.Add([]byte(out.String()))
	}
	path := filepath.Join(f.TempDir(), "x")
	f.Fuzz(func(t *testing.T, text []byte) {
		defer testenv.FuzzLimits(t, maxAllocated+200*len(text))()
		must.Succeed(t, os.WriteFile(path, text, 0o666))
		r, err := Open(context.Background(), path, Options{Columns: []string{"points"}, Features: []string{"points"},
			Format: "arrow", MaxField: 1 << 16})
		if err != nil {
			return
		}
		defer r.Close()
		var row Row
		for r.Next(&row) == nil {
			for _, v := range row.Values {
				for _, token := range v.Features {
					for _, x := range token {
						if x-x != 0 {
							t.Fatalf("got %v in %v, want finite numbers", x, v.Features)
						}
					}
				}
			}
		}
	})
}
