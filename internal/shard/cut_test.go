package shard

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/sftseq/sftseq/internal/arrowipc"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/table"
)

func write(t *testing.T, path, text string) string {
	t.Helper()
	must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o777))
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

// batches returns the content of a file with a column named text, in record batches or row groups of
// the given numbers of rows.
func batches(t *testing.T, format, prefix string, rows ...int) string {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	var out bytes.Buffer
	var w interface {
		Write(arrow.Record) error
		Close() error
	}
	var err error
	switch format {
	case "file":
		w, err = arrowipc.NewFileWriter(&out, schema)
	case "stream":
		w = ipc.NewWriter(&out, ipc.WithSchema(schema))
	case "parquet":
		w, err = pqarrow.NewFileWriter(schema, &out, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
	}
	must.Succeed(t, err)
	n := 0
	for _, count := range rows {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for range count {
			b.Field(0).(*array.StringBuilder).Append(fmt.Sprint(prefix, n))
			n++
		}
		must.Succeed(t, w.Write(b.NewRecord()))
	}
	must.Succeed(t, w.Close())
	return out.String()
}

// lines returns n JSON lines of different lengths.
func lines(prefix, end string, n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, `{"text":"%s%d%s"}%s`, prefix, i, strings.Repeat("x", i*i%97), end)
	}
	return out.String()
}

// rowsOf returns the location of each row in parts, followed by the row's text or error.
func rowsOf(t *testing.T, parts []table.Part) (rows []string) {
	t.Helper()
	r := must.Get(table.OpenParts(t.Context(), parts, table.Options{Columns: []string{"text"}}))(t)
	defer r.Close()
	var row table.Row
	for {
		err := r.Next(&row)
		if err == io.EOF {
			return rows
		}
		must.Succeed(t, err)
		if row.Err != nil {
			rows = append(rows, fmt.Sprint(row.Position(), " ", row.Err))
			continue
		}
		rows = append(rows, fmt.Sprint(row.Position(), " ", row.Values[0].Text))
	}
}

func gzipped(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	io.WriteString(w, text)
	w.Close()
	return out.String()
}

// contents returns the contents of Arrow, Parquet and JSON lines files, many of them edge cases, with their
// numbers of rows.
func contents(t *testing.T) map[string]struct {
	text string
	rows int
} {
	return map[string]struct {
		text string
		rows int
	}{
		"a.arrow":         {batches(t, "file", "a", 5, 1, 0, 30), 36},
		"b.arrow":         {batches(t, "stream", "b", 7, 9), 16},
		"c.parquet":       {batches(t, "parquet", "c", 300, 2, 40), 342},
		"d.jsonl":         {lines("d", "\n", 50), 50},
		"e-crlf.jsonl":    {lines("e", "\r\n", 20), 20},
		"f-end.jsonl":     {strings.TrimSuffix(lines("f", "\n", 20), "\n"), 20},
		"g-mark.jsonl":    {"\xef\xbb\xbf" + lines("g", "\n", 3), 3},
		"h-inside.jsonl":  {lines("h", "\n\xef\xbb\xbf", 3) + "{}", 4},
		"i-blank.jsonl":   {"\n\n" + lines("i", "\n \n\r\n", 9) + "\n\n", 9},
		"j-empty.jsonl":   {"", 0},
		"k-bad.jsonl":     {"{\n" + lines("k", "\n", 4) + "}", 6},
		"l-long.jsonl":    {`{"text":"` + strings.Repeat("l", 200000) + "\"}\n" + lines("l", "\n", 2), 3},
		"m-gzip.jsonl.gz": {gzipped(lines("m", "\n", 40)), 40},
		"n-none.arrow":    {batches(t, "file", "n"), 0},
		"o-none.parquet":  {batches(t, "parquet", "o"), 0},
		"p-one.arrow":     {batches(t, "file", "p", 1), 1},
	}
}

// TestCut checks that every row is in exactly one shard, in order, for several numbers of shards,
// including more shards than rows. N shards of a Parquet file of R rows have at most ⌊R/N⌋+1 rows each.
func TestCut(t *testing.T) {
	counts := []int{2, 3, 7, 8, 64}
	if !testing.Short() {
		counts = append(counts, 1000)
	}
	all := t.TempDir()
	total := 0
	sets := map[string]int{all: 0}
	for name, c := range contents(t) {
		write(t, filepath.Join(all, name), c.text)
		sets[filepath.Join(all, name)] = c.rows
		total += c.rows
	}
	sets[all] = total
	for path, rows := range sets {
		in := must.Get(Find(t.Context(), []string{path}, ""))(t)
		want := rowsOf(t, in.Cut(Shard{0, 1}))
		if len(want) != rows {
			t.Errorf("%s: got %d rows, want %d", path, len(want), rows)
		}
		for _, n := range counts {
			var got []string
			largest := 0
			for i := range n {
				part := rowsOf(t, in.Cut(Shard{i, n}))
				largest = max(largest, len(part))
				got = append(got, part...)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %d shards: got %d rows, which differ from the %d rows of one shard", path, n, len(got),
					len(want))
			}
			if filepath.Ext(path) == ".parquet" && largest > rows/n+1 {
				t.Errorf("%s: %d shards: got a shard with %d of %d rows, want at most %d", path, n, largest, rows,
					rows/n+1)
			}
		}
	}
}

// TestPositions checks that rows keep their locations in the file: row numbers, or byte offsets
// from 1 for JSON lines.
func TestPositions(t *testing.T) {
	text := lines("d", "\r\n", 9)
	path := write(t, filepath.Join(t.TempDir(), "d.jsonl"), text)
	in := must.Get(Find(t.Context(), []string{path}, ""))(t)
	at := 1
	for line := range strings.Lines(text) {
		found := false
		for i := range 4 {
			for _, row := range rowsOf(t, in.Cut(Shard{i, 4})) {
				found = found || strings.HasPrefix(row, fmt.Sprintf("%s@%d ", path, at)) &&
					strings.Contains(line, `"`+row[strings.LastIndex(row, " ")+1:]+`"`)
			}
		}
		if !found {
			t.Errorf("no row at byte %d", at)
		}
		at += len(line)
	}
	path = write(t, filepath.Join(t.TempDir(), "a.arrow"), batches(t, "file", "r", 3, 3))
	in = must.Get(Find(t.Context(), []string{path}, ""))(t)
	if got := rowsOf(t, in.Cut(Shard{1, 2})); !slices.Equal(got,
		[]string{path + ":4 r3", path + ":5 r4", path + ":6 r5"}) {
		t.Errorf("got rows %q, want rows 4 to 6", got)
	}
}

// TestHugeFiles checks that files are split without gaps for sizes and row counts up to 2⁶⁰, and that scale
// does not overflow.
func TestHugeFiles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		in := &Input{}
		for range 1 + random.IntN(4) {
			e := table.Extent{Bytes: 1 + random.Int64N(1<<uint(1+random.IntN(60))),
				Rows: random.Int64N(1 << uint(1+random.IntN(60)))}
			if random.IntN(3) == 0 {
				e.Rows = -1
			}
			in.Files = append(in.Files, File{Path: fmt.Sprint(len(in.Files)), Extent: e})
		}
		n := 1 + random.IntN(20)
		next := map[string]int64{}
		for i := range n {
			for _, p := range in.Cut(Shard{i, n}) {
				if p.From != next[p.Path] || p.To <= p.From {
					t.Fatalf("%v: shard %d of %d: got part %v after %d", in.Files, i, n, p, next[p.Path])
				}
				next[p.Path] = p.To
			}
		}
		for _, f := range in.Files {
			end := f.Rows
			if f.Rows < 0 { // cut at bytes
				end = f.Bytes
			}
			if next[f.Path] != end {
				t.Fatalf("%v: parts of file %s end at %d, want the end of the file, %d", in.Files, f.Path,
					next[f.Path], end)
			}
		}
	}
	if got := scale(math.MaxInt64, math.MaxInt64-1, math.MaxInt64); got != math.MaxInt64-1 {
		t.Errorf("scale: got %d, want %d", got, int64(math.MaxInt64-1))
	}
}

// TestChanged checks that a file with fewer rows or bytes than expected is an error, not a shorter part.
func TestChanged(t *testing.T) {
	for name, now := range map[string]string{"x.arrow": batches(t, "file", "x", 3),
		"x.parquet": batches(t, "parquet", "x", 3)} {
		path := write(t, filepath.Join(t.TempDir(), name), now)
		r, err := table.OpenPart(context.Background(),
			table.Part{Path: path, Format: strings.TrimPrefix(filepath.Ext(name), "."), From: 2, To: 5},
			table.Options{Columns: []string{"text"}})
		must.Succeed(t, err)
		var row table.Row
		if err := r.Next(&row); err != nil || row.Values[0].Text != "x2" {
			t.Errorf("%s: got %v, error %v, want x2", name, row, err)
		}
		must.Fail(t, "expected at least 5 rows, found 3", name)(r.Next(&row))
		r.Close()
	}
	text := lines("x", "\n", 3)
	path := write(t, filepath.Join(t.TempDir(), "x.jsonl"), text)
	for _, from := range []int{0, 20, len(text) - 1, len(text), len(text) + 10} {
		for _, to := range []int{len(text) + 1, len(text) + 50} {
			r, err := table.OpenPart(context.Background(), table.Part{Path: path, Format: "jsonl", From: int64(from),
				To: int64(to)}, table.Options{Columns: []string{"text"}})
			must.Succeed(t, err)
			var row table.Row
			for err == nil {
				err = r.Next(&row)
			}
			if want := fmt.Sprintf("expected at least %d bytes, found %d: was the file changed?", to,
				len(text)); !strings.Contains(err.Error(), want) {
				t.Errorf("%d to %d: got error %v, want %s", from, to, err, want)
			}
			r.Close()
		}
	}
}
