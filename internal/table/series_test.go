package table

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/sftseq/sftseq/internal/must"
)

// seriesRows returns the rows of a table with a series and an id: the numbers and the id, or an
// error.
func seriesRows(t *testing.T, path string, o Options) (rows []string) {
	t.Helper()
	o.Columns = []string{SeriesName(o.Series), "id"}
	r := must.Get(Open(t.Context(), path, o))(t)
	defer r.Close()
	var row Row
	for {
		err := r.Next(&row)
		if err == io.EOF {
			return rows
		}
		must.Succeed(t, err)
		switch {
		case row.Err != nil:
			rows = append(rows, "! "+row.Err.Error())
		case row.Values[0].Null:
			rows = append(rows, "null "+row.Values[1].Text)
		default:
			rows = append(rows, fmt.Sprint(row.Values[0].Features, " ", row.Values[1].Text))
		}
	}
}

// TestSeries checks that a series is read from a list in one column (JSON and CSV), a list per channel
// (CSV), or a number per column (TSV). Errors for other values name the column.
func TestSeries(t *testing.T) {
	for _, c := range []struct{ name, text, series, want string }{
		{"a.jsonl", `{"v":[0.1,-2,3e1],"id":"a"}` + "\n" + `{"id":"b"}` + "\n" + `{"v":[],"id":"c"}` + "\n" +
			`{"v":"0.5 1,5","id":"d"}` + "\n" + `{"v":"[1, 2]","id":"e"}` + "\n" + `{"v":[1,null],"id":"f"}`, "v",
			`[[0.1] [-2] [30]] a|null b|[] c|! column v: number 1: expected a number with a decimal point, and one kind of separator between numbers, found "1,5"|[[1] [2]] e|! column v: number 1: expected a number, found null`},
		{"a.csv", "v,id\n\"[0.1, 0.2]\",a\n[1 2\t3],b\n0.5;1;2,c\n\"0,5;1,5\",d\n\"[1, x]\",e\n7,f\n,g\n\"[1 ... 2]\",h\n\"[1, nan]\",i\n", "v",
			`[[0.1] [0.2]] a|[[1] [2] [3]] b|[[0.5] [1] [2]] c|! column v: number 0: expected a number with a decimal point, and one kind of separator between numbers, found "0,5"|` +
				`! column v: number 1: expected a number, found "x"|! column v: expected a list of numbers, found a number: if each step has its own column, list all columns (or a pattern such as 't*')|null g|` +
				`! column v: number 1: expected a number, found "..."|! column v: number 1: expected a finite float32, found "nan"`},
		{"a.tsv", "id\tt1\tt2\tt3\nx\t1\t2.5\t3\ny\t1\t\t\nz\t1\t\t3\nu\t\t\t\nv\t1\tNaN\tNaN\nw\t1\t0x1\t3\n", "t*",
			`[[1] [2.5] [3]] x|[[1]] y|! column t2: expected a value, because column t3 has one, found nothing|null u|[[1]] v|! column t2: number 0: expected a number, found "0x1"`},
		{"a.csv", "x,id,y\n1 2,a,3 4\n1 2,b,3\n1 2,c,5 6 7\n1 2,d,\n", "x,y",
			`[[1 3] [2 4]] a|! column y: expected either lists or single numbers in all columns of the series, found both|! column y: expected 2 numbers, as in column x, found 3|! column y: expected a list of numbers, found nothing`},
		{"a.json", `[{"x":{"l":[1,2]},"id":"a"}]`, "x.l", "[[1] [2]] a"},
	} {
		if got := strings.Join(seriesRows(t, writeFile(t, c.name, c.text),
			Options{Series: strings.Split(c.series, ",")}),
			"|"); got != c.want {
			t.Errorf("%s %q: got\n%s\nwant\n%s", c.name, c.text, got, c.want)
		}
	}
	for want, series := range map[string]string{`columns "q*": no column matches, expected some of "t1", "id", "t2"`: "q*",
		"expected distinct column names": "t1,t*", `column "v": expected one of`: "v"} {
		must.Fail(t, want)(Open(t.Context(), writeFile(t, "a.csv", "t1,id,t2\n1,a,2\n"),
			Options{Series: strings.Split(series, ","), Columns: []string{series, "id"}}))
	}
}

// TestSeriesNames checks that several columns are channels if they have lists, and steps otherwise.
func TestSeriesNames(t *testing.T) {
	for _, c := range []struct{ text, series, want string }{
		{"v,w\n1 2,3 4\n", "v", "v"}, {"v,w\n,\n1 2,3 4\n", "v,w", "v w"}, {"v,w\n1,2\n", "w,v", "value"},
		{"t1,t2\n1,2\n", "t*", "value"}, {"ax,ay\n1 2,3 4\n", "a*", "ax ay"}, {"v,w\n", "v,w", "value"},
	} {
		got := must.Get(SeriesNames(t.Context(), writeFile(t, "a.csv", c.text),
			Options{Series: strings.Split(c.series, ",")}))(t)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q, %s: got %q, want %q", c.text, c.series, got, c.want)
		}
	}
}

// TestSeriesLimit checks that MaxField limits the memory of a series even if its text is shorter.
func TestSeriesLimit(t *testing.T) {
	path := writeFile(t, "a.csv", "v,id\n"+strings.Repeat("1 ", 100)+",a\n1 2,b\n")
	if got := seriesRows(t, path, Options{Series: []string{"v"}, MaxField: 1000}); len(got) != 2 ||
		!strings.Contains(got[0], "exceeds the limit of 1000 bytes") || got[1] != "[[1] [2]] b" {
		t.Errorf("got %q, want an error of the first row and [[1] [2]] b", got)
	}
}

// TestSeriesKept checks that a series column that is also wanted by itself is returned as a JSON list.
func TestSeriesKept(t *testing.T) {
	r := must.Get(Open(t.Context(), writeFile(t, "a.jsonl", `{"v":[1,2.5]}`),
		Options{Series: []string{"v", "w"}, Columns: []string{"w", "v,w", "v"}}))(t)
	defer r.Close()
	var row Row
	must.Succeed(t, r.Next(&row))
	if row.Err == nil || !strings.Contains(row.Err.Error(), "column w: expected a list of numbers, found nothing") ||
		len(row.Values) != 3 || row.Values[2].Text != "[1,2.5]" || !row.Values[2].JSON {
		t.Errorf("got %+v, want an error on column w, and the list [1,2.5] as JSON", row)
	}
}

// TestSeriesHint checks that the error for lists of numbers read as text or features names the flag
// --series.
func TestSeriesHint(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.ListOf(arrow.PrimitiveTypes.Float32)}}, nil)
	must.Fail(t, "found a series of type list<item: float32, nullable> (read it with --series)")(checkColumns(schema,
		Options{Columns: []string{"v"}}))
	must.Fail(t, "found list<item: float32, nullable> (read a series with --series)")(checkColumns(schema,
		Options{Columns: []string{"v"}, Features: []string{"v"}}))
}

// TestSeriesArrow checks that lists of floats and of integers in Arrow and Parquet are read as series.
func TestSeriesArrow(t *testing.T) {
	for _, kind := range []arrow.DataType{arrow.ListOf(arrow.PrimitiveTypes.Float32),
		arrow.ListOf(arrow.PrimitiveTypes.Float64), arrow.ListOf(arrow.PrimitiveTypes.Int16),
		arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Uint8)} {
		schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.BinaryTypes.String},
			{Name: "v", Type: kind, Nullable: true}}, nil)
		record, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema,
			strings.NewReader(`[{"id":"a","v":[1,2]},{"id":"b","v":null}]`))
		must.Succeed(t, err)
		f := must.Get(os.Create(filepath.Join(t.TempDir(), "a.arrow")))(t)
		w := must.Get(ipc.NewFileWriter(f, ipc.WithSchema(schema)))(t)
		must.Succeed(t, w.Write(record))
		must.Succeed(t, w.Close())
		p := must.Get(os.Create(filepath.Join(t.TempDir(), "a.parquet")))(t)
		out := must.Get(pqarrow.NewFileWriter(schema, p, parquet.NewWriterProperties(),
			pqarrow.DefaultWriterProps()))(t)
		must.Succeed(t, out.Write(record))
		must.Succeed(t, out.Close())
		for _, path := range []string{f.Name(), p.Name()} {
			if got := strings.Join(seriesRows(t, path, Options{Series: []string{"v"}}),
				"|"); got != "[[1] [2]] a|null b" {
				t.Errorf("%s: %s: got %s, want [[1] [2]] a|null b", path, kind, got)
			}
		}
	}
}
