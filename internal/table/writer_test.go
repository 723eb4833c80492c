package table

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	parquetfile "github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// outputColumns are the columns of outputRows, of every kind that all formats can store.
var outputColumns = []OutputColumn{{Name: "id"}, {Name: "a \"name\"", Kind: IntColumn}, {Name: "p", Kind: FloatColumn},
	{Name: "v", Kind: VectorColumn, Width: 2}, {Name: "error", Omit: true}}

var outputRows = [][]any{
	{"k1", int64(-7), float32(0.1), []float32{1e-20, 2}, nil},
	{"<a,\tb\n\"é\">", nil, nil, nil, "wrong"},
	{json.RawMessage("12.50"), int64(1) << 40, float32(1), []float32{0, -0.5}, nil},
	{json.RawMessage("NaN"), nil, nil, nil, nil},
}

// writeTable returns a table with the rows in a format.
func writeTable(t *testing.T, format string, columns []OutputColumn, rows [][]any) []byte {
	t.Helper()
	var out bytes.Buffer
	w := must.Get(NewWriter(&out, format, columns))(t)
	for _, row := range rows {
		must.Succeed(t, w.Write(row))
	}
	must.Succeed(t, errors.Join(w.Flush(), w.Close()))
	return out.Bytes()
}

// TestWriteText checks the output in each text format.
func TestWriteText(t *testing.T) {
	for format, want := range map[string]string{
		"jsonl": `{"id":"k1","a \"name\"":-7,"p":0.1,"v":[1e-20,2]}
{"id":"<a,\tb\n\"é\">","a \"name\"":null,"p":null,"v":null,"error":"wrong"}
{"id":12.50,"a \"name\"":1099511627776,"p":1,"v":[0,-0.5]}
{"id":"NaN","a \"name\"":null,"p":null,"v":null}
`,
		"csv": `id,"a ""name""",p,v_0,v_1,error
k1,-7,0.1,1e-20,2,
"<a,	b
""é"">",,,,,wrong
12.50,1099511627776,1,0,-0.5,
NaN,,,,,
`,
		"tsv": "id\t\"a \"\"name\"\"\"\tp\tv_0\tv_1\terror\nk1\t-7\t0.1\t1e-20\t2\t\n\"<a,\tb\n\"\"é\"\">\"\t\t\t\t\twrong\n12.50\t1099511627776\t1\t0\t-0.5\t\nNaN\t\t\t\t\t\n",
	} {
		if got := string(writeTable(t, format, outputColumns, outputRows)); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", format, got, want)
		}
	}
}

// wantRecords are outputRows as Arrow formats them.
const wantRecords = `[{"a \"name\"":-7,"error":null,"id":"k1","p":0.1,"v":[1e-20,2]},{"a \"name\"":null,"error":"wrong","id":"<a,\tb\n\"é\">","p":null,"v":null},{"a \"name\"":1099511627776,"error":null,"id":"12.50","p":1,"v":[0,-0.5]},{"a \"name\"":null,"error":null,"id":"NaN","p":null,"v":null}]`

// recordJSON returns a record as JSON with sorted keys.
func recordJSON(t *testing.T, record arrow.Record) string {
	t.Helper()
	text := must.Get(record.MarshalJSON())(t)
	var all any
	must.Succeed(t, json.Unmarshal(text, &all))
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	must.Succeed(t, e.Encode(all))
	return strings.TrimSpace(out.String())
}

// TestArrow checks the rows and the type of vectors in an Arrow file.
func TestArrow(t *testing.T) {
	r := must.Get(ipc.NewFileReader(bytes.NewReader(writeTable(t, "arrow", outputColumns, outputRows))))(t)
	record := must.Get(r.Record(0))(t)
	if got := recordJSON(t, record); got != wantRecords || r.NumRecords() != 1 {
		t.Errorf("got %d batches, the first\n%s\nwant 1 batch\n%s", r.NumRecords(), got, wantRecords)
	}
	if _, ok := r.Schema().Field(3).Type.(*arrow.FixedSizeListType); !ok {
		t.Errorf("got schema %s, want a fixed-size list", r.Schema())
	}
}

// parquetRecords reads a whole Parquet file, and returns the number of its row groups.
func parquetRecords(t *testing.T, text []byte) (groups int, record arrow.Record) {
	t.Helper()
	p := must.Get(parquetfile.NewParquetReader(bytes.NewReader(text)))(t)
	r := must.Get(pqarrow.NewFileReader(p, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator))(t)
	table := must.Get(r.ReadTable(t.Context()))(t)
	var columns []arrow.Array
	for i := range int(table.NumCols()) {
		whole := must.Get(array.Concatenate(table.Column(i).Data().Chunks(), memory.DefaultAllocator))(t)
		columns = append(columns, whole)
	}
	return p.NumRowGroups(), array.NewRecord(table.Schema(), columns, table.NumRows())
}

// TestParquet checks the rows of a Parquet file, and that the root of its schema is required, because
// hyparquet counts a repeated root as a level of lists.
func TestParquet(t *testing.T) {
	text := writeTable(t, "parquet", outputColumns, outputRows)
	groups, record := parquetRecords(t, text)
	file := must.Get(parquetfile.NewParquetReader(bytes.NewReader(text)))(t)
	if root := file.MetaData().Schema.Root().RepetitionType(); root != parquet.Repetitions.Required {
		t.Errorf("the root is %s, want %s", root, parquet.Repetitions.Required)
	}
	if got := recordJSON(t, record); got != wantRecords || groups != 1 {
		t.Errorf("got %d row groups and\n%s\nwant 1 row group and\n%s", groups, got, wantRecords)
	}
}

// TestManyRows checks that the rows of several Parquet row groups are complete and in order. In every
// format, a writer's memory does not grow with the rows, and a table without rows is not an empty file,
// except in JSON lines.
func TestManyRows(t *testing.T) {
	testenv.Long(t, "writes 240 MiB in each format")
	var many [][]any
	for i := range 1<<16 + 5 {
		many = append(many, []any{fmt.Sprint(i), int64(i), float32(i), []float32{float32(i), 0}, nil})
	}
	groups, record := parquetRecords(t, writeTable(t, "parquet", outputColumns, many))
	numbers := record.Column(1).(*array.Int64)
	for i := range many {
		if numbers.Value(i) != int64(i) {
			t.Fatalf("row %d: got %d, want the row number", i, numbers.Value(i))
		}
	}
	if groups != 2 || int(record.NumRows()) != len(many) {
		t.Errorf("got %d row groups and %d rows, want 2 and %d", groups, record.NumRows(), len(many))
	}
	for _, format := range OutputFormats {
		if text := writeTable(t, format, outputColumns, nil); len(text) == 0 && format != "jsonl" {
			t.Errorf("%s: got an empty file for a table without rows", format)
		}
		heap := func(rows int) uint64 {
			w := must.Get(NewWriter(io.Discard, format, outputColumns))(t)
			long := strings.Repeat("a", 1<<20)
			for range rows {
				must.Succeed(t, w.Write([]any{long, nil, nil, nil, nil}))
			}
			var stats runtime.MemStats
			runtime.GC()
			runtime.GC() // the first collection keeps the memory of sync.Pool
			runtime.ReadMemStats(&stats)
			runtime.KeepAlive(w)
			return stats.HeapAlloc
		}
		if few, more := heap(40), heap(200); more > few+48<<20 {
			t.Errorf("%s: got a heap of %d bytes after 40 MiB and %d after 200 MiB, want at most 48 MiB more", format,
				few, more)
		}
	}
}

// failingWriter is a writer that fails after a number of bytes, like a full disk.
type failingWriter struct{ remaining int }

func (f *failingWriter) Write(p []byte) (int, error) {
	if f.remaining -= len(p); f.remaining < 0 {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

// TestWriteErrors checks that a failed write is returned as an error wherever it occurs in the
// file, and that values of the wrong type and object columns are errors, except in JSON lines.
func TestWriteErrors(t *testing.T) {
	for _, format := range OutputFormats {
		whole := len(writeTable(t, format, outputColumns, outputRows))
		for limit := 0; limit < whole; limit += 7 {
			w, err := NewWriter(&failingWriter{limit}, format, outputColumns)
			for _, row := range outputRows {
				if err == nil {
					err = w.Write(row)
				}
			}
			if err == nil {
				err = w.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "no space left") {
				t.Fatalf("%s: after %d of %d bytes: got error %v, want \"no space left\"", format, limit, whole, err)
			}
		}
		if format == "jsonl" {
			continue
		}
		w := must.Get(NewWriter(io.Discard, format, outputColumns))(t)
		must.Fail(t, "column id: found a value of type bool", format)(w.Write([]any{true, nil, nil, nil, nil}))
		if _, err := NewWriter(io.Discard, format, []OutputColumn{{Name: "x", Kind: ObjectColumn}}); err == nil {
			t.Errorf("%s: got no error for an object column", format)
		}
	}
}

// TestOutputFormat checks the formats of file names, and that unknown extensions are errors.
func TestOutputFormat(t *testing.T) {
	for path, want := range map[string]string{"": "jsonl", "-": "jsonl", "a.CSV": "csv", "b/c.tab": "tsv",
		"x.pq": "parquet", "x.feather": "arrow", "x.ndjson": "jsonl", "x": "", "x.csv.gz": ""} {
		if got, err := OutputFormat(path); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", path, got, err, want)
		}
	}
}

// TestArrowStream checks that flushed rows can be read before the end of the stream, with the
// schema's metadata.
func TestArrowStream(t *testing.T) {
	from, to := io.Pipe()
	metadata := arrow.NewMetadata([]string{"made of"}, []string{"x"})
	flushed, done := make(chan bool), make(chan error, 1)
	go func() {
		w, err := NewArrowWriter(to, []OutputColumn{{Name: "id"}}, &metadata, true)
		if err == nil {
			err = errors.Join(w.Write([]any{"a"}), w.Flush())
		}
		<-flushed
		done <- errors.Join(err, w.Write([]any{"b"}), w.Close(), to.Close())
	}()
	late := time.AfterFunc(5*time.Second, func() { to.CloseWithError(errors.New("no flushed row within 5 seconds")) })
	defer late.Stop()
	r := must.Get(ipc.NewReader(from))(t)
	for i, want := range []string{"a", "b"} {
		if !r.Next() || r.Record().Column(0).(*array.String).Value(0) != want {
			t.Fatalf("batch %d: got error %v or the wrong value, want %q", i, r.Err(), want)
		}
		if i == 0 {
			close(flushed)
		}
	}
	if at := r.Schema().Metadata().FindKey("made of"); at < 0 || r.Next() {
		t.Errorf("got metadata %v or a third batch, want the key \"made of\" and two batches", r.Schema().Metadata())
	}
	must.Check(t, <-done)
}

// TestWriteLists checks that lists of any length are stored, that list and vector columns reject each
// other's values, and that CSV and TSV reject lists.
func TestWriteLists(t *testing.T) {
	lists := []OutputColumn{{Name: "id"}, {Name: "l", Kind: ListColumn}}
	if got, want := string(writeTable(t, "jsonl", lists, [][]any{{"a", []int32{1, -2, 3}}, {"b", []int32{}},
		{"c", nil}})), `{"id":"a","l":[1,-2,3]}
{"id":"b","l":[]}
{"id":"c","l":null}
`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, format := range []string{"csv", "tsv"} {
		must.Fail(t, "column l: CSV and TSV cannot store lists", format)(NewWriter(io.Discard, format, lists))
	}
	r, err := ipc.NewFileReader(bytes.NewReader(writeTable(t, "arrow", lists,
		[][]any{{"a", []int32{1, -2, 3}}, {"b", []int32{}}, {"c", nil}})))
	must.Succeed(t, err)
	defer r.Close()
	record := must.Get(r.Record(0))(t)
	if got, want := recordJSON(t, record),
		`[{"id":"a","l":[1,-2,3]},{"id":"b","l":[]},{"id":"c","l":null}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for kind, v := range map[ColumnKind]any{ListColumn: []float32{1, 2}, VectorColumn: []int32{1, 2}} {
		w := must.Get(NewWriter(io.Discard, "arrow", []OutputColumn{{Name: "x", Kind: kind, Width: 2}}))(t)
		if err := w.Write([]any{v}); err == nil {
			t.Errorf("%T: got no error in a column of a different kind", v)
		}
	}
}

// TestSafeFormat checks that in safe tables, texts and names that a spreadsheet would evaluate get
// a leading apostrophe, but numbers, texts of numbers and other texts do not. Plain CSV adds no apostrophe.
func TestSafeFormat(t *testing.T) {
	columns := []OutputColumn{{Name: "=a"}, {Name: "b"}, {Name: "c", Kind: IntColumn},
		{Name: "+d", Kind: VectorColumn, Width: 2}, {Name: "e", Kind: FloatColumn}}
	rows := [][]any{
		{"=1+1", "@SUM(A1)", int64(-3), []float32{-1, 2}, float32(-0.5)},
		{"+1", "-1", nil, nil, nil},
		{"-0.3", "-1e-7", nil, nil, nil},
		{"+.5", "-5.", nil, nil, nil},
		{"+1-1", "-1e", nil, nil, nil},
		{"-5\n", "-Inf", nil, nil, nil},
		{"\tx", "\rx", nil, nil, nil},
		{"＝1", "\nx", nil, nil, nil},
		{"a=1", "", nil, nil, nil},
		{json.RawMessage("-5"), "'=1", nil, nil, nil},
	}
	write := func(format string) string {
		var out strings.Builder
		w := must.Get(NewWriter(&out, format, columns))(t)
		for _, row := range rows {
			must.Succeed(t, w.Write(row))
		}
		must.Succeed(t, w.Close())
		return out.String()
	}
	safe := must.Get(SafeFormat("csv"))(t)
	want := "'=a,b,c,'+d_0,'+d_1,e\n'=1+1,'@SUM(A1),-3,-1,2,-0.5\n+1,-1,,,,\n-0.3,-1e-7,,,,\n+.5,-5.,,,,\n'+1-1,'-1e,,,,\n\"'-5\n\",'-Inf,,,,\n" +
		"'\tx,\"'\rx\",,,,\n'＝1,\"'\nx\",,,,\na=1,,,,,\n-5,'=1,,,,\n"
	if got := write(safe); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := write("csv"); !strings.HasPrefix(got, "=a,b,c,+d_0,+d_1,e\n=1+1,@SUM(A1),") ||
		strings.Count(got, "'") != 1 {
		t.Errorf("got plain CSV %q, want no additional apostrophe", got)
	}
	rows = rows[:2]
	if got := write(must.Get(SafeFormat("tsv"))(t)); !strings.Contains(got, "\n'=1+1\t'@SUM(A1)\t-3\t") {
		t.Errorf("got TSV %q, want an apostrophe before each formula", got)
	}
	for _, format := range []string{"jsonl", "parquet", "arrow", BED} {
		_, err := SafeFormat(format)
		must.Fail(t, "csv or tsv, found "+format)(err)
	}
}
