package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sftseq/sftseq/internal/arrowipc"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// npmTests is the folder with the scripts and npm packages of tests.
const npmTests = "testdata/npm"

// TestKeptTypes checks with DuckDB that predict keeps columns of many types unchanged. Columns in Parquet
// keep their types. CSV and JSON have exact texts, which DuckDB casts to the types.
func TestKeptTypes(t *testing.T) {
	testenv.NeedPrograms(t, "node")
	testenv.NeedFile(t, "npm's @duckdb/node-api", filepath.Join(npmTests, "node_modules/@duckdb/node-api"))
	dir := t.TempDir()
	script, in := filepath.Join(npmTests, "duckdb.mjs"), filepath.Join(dir, "in.parquet")
	client(t, "", []string{"node", script}, "make", in)
	var columns []string
	for _, m := range regexp.MustCompile(`(?m)^  (\w+): ["\x60]`).FindAllStringSubmatch(readText(t, script), -1) {
		if m[1] != "bytes" { // DuckDB writes bytes that are not UTF-8
			columns = append(columns, m[1])
		}
	}
	for name, keep := range map[string]string{"out.parquet": "all", "out.csv": strings.Join(columns, ","),
		"out.jsonl": strings.Join(columns, ",")} {
		out := filepath.Join(dir, name)
		done(t, "", "predict", "--model", goldenPath("post"), "--input", in, "--text", "text",
			"--id", "key", "--keep", keep,
			"--output", out)
		if differences := client(t, "", []string{"node", script}, "compare", in, out); differences != "" {
			t.Errorf("%s: got differences from in.parquet, want none:\n%s", name, differences)
		}
	}
}

// typedStream returns an Arrow stream of texts with integer keys and dates. In the last row, the key is
// null and the text is empty.
func typedStream(t *testing.T) string {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "key", Type: arrow.PrimitiveTypes.Int16, Nullable: true},
		{Name: "text", Type: arrow.BinaryTypes.String}, {Name: "day", Type: arrow.FixedWidthTypes.Date32}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range 3 {
		b.Field(0).(*array.Int16Builder).Append(int16(7 + i))
		b.Field(1).(*array.StringBuilder).Append("[MAX 2 9 ]")
		b.Field(2).(*array.Date32Builder).Append(arrow.Date32(i))
	}
	b.Field(0).AppendNull()
	b.Field(1).(*array.StringBuilder).Append("") // the model refuses an empty text
	b.Field(2).(*array.Date32Builder).Append(3)
	var out strings.Builder
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	must.Succeed(t, w.Write(b.NewRecord()))
	must.Succeed(t, w.Close())
	return out.String()
}

// TestKeptTypesOfStreams checks that ids and kept columns of an Arrow stream keep their types in a stream,
// in a file and in the part of a shard. A null id stays null.
func TestKeptTypesOfStreams(t *testing.T) {
	dir, text := t.TempDir(), typedStream(t)
	in := writeText(t, filepath.Join(dir, "in.arrows"), text)
	flags := []string{"predict", "--model", goldenPath("post"), "--text", "text", "--id", "key", "--keep", "day"}
	var keys, days []string
	collect := func(record arrow.Record) {
		for i := range int(record.NumRows()) {
			keys = append(keys, record.Column(0).(*array.Int16).ValueStr(i))
			days = append(days, record.Column(1).(*array.Date32).ValueStr(i))
		}
	}
	check := func(name string) {
		t.Helper()
		const want = "7 8 9 (null) 1970-01-01 1970-01-02 1970-01-03 1970-01-04"
		if got := strings.Join(append(keys, days...), " "); got != want {
			t.Errorf("%s: got ids and days %s, want %s", name, got, want)
		}
		keys, days = nil, nil
	}
	checkFile := func(path string) {
		t.Helper()
		f := must.Get(os.Open(path))(t)
		defer f.Close()
		r := must.Get(ipc.NewFileReader(f))(t)
		for i := range r.NumRecords() {
			collect(must.Get(r.Record(i))(t))
		}
		check(path)
	}
	stream := client(t, text, []string{built(t)}, append(flags, "--input", "-", "--format", "arrow", "--shard", "0/1",
		"--on-error", "column", "--output", "-")...)
	s := must.Get(arrowipc.NewStream(strings.NewReader(stream)))(t)
	for record, err := s.Next(); err != io.EOF; record, err = s.Next() {
		must.Succeed(t, err)
		collect(record)
	}
	check("stream")
	out := filepath.Join(dir, "out.arrow")
	if status, _, errs := program(nil, append(flags, "--input", in, "--output", out)...); status != exitError {
		t.Errorf("unexpected status %d: %s", status, errs)
	}
	checkFile(out)
	exits(t, exitOK, "", append(flags, "--input", in, "--on-error", "column", "--shard", "0/1",
		"--output", dir+"/parts/")...)
	parts := must.Get(filepath.Glob(dir + "/parts/*.arrow"))(t)
	if len(parts) != 1 {
		t.Fatalf("got parts %q, want one part", parts)
	}
	checkFile(parts[0])
}

// TestDatesAsIDs checks that a column of dates can be the id of rows in CSV and in JSON lines.
func TestDatesAsIDs(t *testing.T) {
	in := writeText(t, filepath.Join(t.TempDir(), "in.arrows"), typedStream(t))
	for _, name := range []string{"out.csv", "out.jsonl"} {
		out := filepath.Join(t.TempDir(), name)
		exits(t, exitError, "", "predict", "--model", goldenPath("post"), "--text", "text", "--id", "day", "--input", in,
			"--output", out)
		contains(t, readText(t, out), "1970-01-02")
	}
}

// TestArrowInJavaScript checks that npm's apache-arrow reads the same ids, labels, probabilities and
// embeddings from Arrow files as JSON lines contain. It also reads the dates of a kept column, and the error of
// a row.
func TestArrowInJavaScript(t *testing.T) {
	testenv.NeedPrograms(t, "node")
	testenv.NeedFile(t, "npm's apache-arrow", filepath.Join(npmTests, "node_modules/apache-arrow"))
	dir := t.TempDir()
	in := writeText(t, filepath.Join(dir, "in.arrows"), typedStream(t))
	flags := []string{"--model", goldenPath("post"), "--text", "text", "--id", "key", "--input", in}
	type row struct {
		ID            any `json:"id"`
		Label         *int
		Probabilities []float64
		Probability0  *float64 `json:"probability_0"`
		Embedding     []float64
		Error         any
		Day           any
	}
	rows := func(name string, command ...string) (out []row) {
		path := filepath.Join(dir, name)
		// The model refuses the empty text of the last row.
		exits(t, exitError, "", slices.Concat(command, flags, []string{"--output", path})...)
		text := readText(t, path)
		if !strings.HasSuffix(name, ".jsonl") {
			text = client(t, "", []string{"node", filepath.Join(npmTests, "arrow.mjs")}, path)
		}
		for line := range strings.Lines(text) {
			out = append(out, decode[row](t, line))
		}
		return out
	}
	const day = 24 * 60 * 60 * 1000 // JavaScript's dates are in milliseconds
	want, got := rows("out.jsonl", "predict", "--keep", "day"), rows("out.arrow", "predict", "--keep", "day")
	for i, w := range want[:3] {
		g := got[i]
		if g.ID != w.ID || *g.Label != *w.Label || g.Day != float64(i*day) ||
			float32(*g.Probability0) != float32(w.Probabilities[0]) {
			t.Errorf("row %d: got %+v, want %+v", i, g, w)
		}
	}
	if g := got[3]; len(got) != 4 || g.ID != nil || g.Label != nil || !strings.Contains(fmt.Sprint(g.Error), "empty") {
		t.Errorf("got %d rows, the last %+v; want 4 rows, the last with an error about an empty text", len(got), g)
	}
	want, got = rows("embeddings.jsonl", "embed"), rows("embeddings.arrow", "embed")
	for i, w := range want[:3] {
		same := func(a, b float64) bool { return float32(a) == float32(b) }
		if !slices.EqualFunc(w.Embedding, got[i].Embedding, same) || len(w.Embedding) == 0 {
			t.Errorf("row %d: got the embedding %v, want %v", i, got[i].Embedding, w.Embedding)
		}
	}
}
