package table

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// csvRows are the rows of a text, and how it ends: those of this package, read in blocks
// of so many bytes at least.
func csvRows(text string, comma byte, block int) (rows []string) {
	r := &csvReader{comma: comma, delimited: delimited{window: &window{in: strings.NewReader(text), block: block, piece: make([]byte, 7)}, limit: 1 << 20}, line: 1}
	for {
		s, _, err := r.read(1 << 20)
		var bad *csvError
		switch {
		case errors.As(err, &bad):
			rows = append(rows, fmt.Sprintf("%d! %d:%d %v", r.last, r.last+int64(bad.line), bad.column, bad.err))
		case err != nil:
			return append(rows, err.Error())
		default:
			rows = append(rows, fmt.Sprintf("%d: %q", r.last, s.fields))
		}
	}
}

// theirRows are those of encoding/csv.
func theirRows(text string, comma byte) (rows []string) {
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = rune(comma)
	r.FieldsPerRecord = -1
	for {
		fields, err := r.Read()
		var bad *csv.ParseError
		switch {
		case errors.As(err, &bad):
			rows = append(rows, fmt.Sprintf("%d! %d:%d %v", bad.StartLine, bad.Line, bad.Column, bad.Err))
		case err != nil:
			return append(rows, err.Error())
		default:
			line, _ := r.FieldPos(0)
			rows = append(rows, fmt.Sprintf("%d: %q", line, fields))
		}
	}
}

// FuzzCSV: whatever the text, the rows, their lines and what is wrong with them are those
// of encoding/csv, wherever blocks end.
func FuzzCSV(f *testing.F) {
	for _, text := range []string{
		"", "\n", "\r", "\r\n", "a", "a,b\n1,2\n", "a,b\r\n1,2\r\n\r\n3,4", "a,\n,\n,b", "a\r", "a\r\r\n\r\r\n", "a\rb,c\n", "\"a\r", "\"\n\r", "\"a\r\r", "\"a\r\n",
		"\"a\"", "\"a\"\r", "\"a\"\r\n", "\"a\",\"b\"\n", "\"a\"\"b\"\n", "\"\"\"\"", "\"\"", "\"\",\"\"\n", "\"a\nb\",c\nd\n", "\"a\r\nb\r\n\",c\r\nd",
		"a\"b,c\n1,2\n", "\"a\"b,c\n1,2\n", "\"a\nb\"c\n1,2\n", "\"a\nb\",c\"d\n1,2\n", "a,\"b", "a,\"b\n", "a,\"b\nc\n", "\"a\"\r\r\n", "\"a\" ,b\n",
		"a, \"b\"\n", "\"a\nb\"\"\n\"\n", "\x00,\xff\n", "a,b\n\"" + strings.Repeat("long,\n", 20) + "\"\n1,2",
	} {
		f.Add(text, byte(','))
		f.Add(strings.ReplaceAll(text, ",", ";"), byte(';'))
		f.Add(strings.ReplaceAll(text, ",", "\t"), byte('\t'))
	}
	f.Fuzz(func(t *testing.T, text string, comma byte) {
		defer testenv.FuzzLimits(t, 4<<20+2000*len(text))()
		if d, err := ParseDelimiter(string(rune(comma))); err != nil || d != comma {
			return // no separator
		}
		want := theirRows(text, comma)
		for _, block := range []int{1, 3, blockBytes} {
			if found := csvRows(text, comma, block); !slices.Equal(found, want) {
				t.Errorf("%q in blocks of %d:\n%s, expected\n%s", text, block, found, want)
			}
		}
	})
}

// TestCSVBounds: a row may have as many bytes as is said, without its end; what is beyond
// the columns of a row is counted, not kept; and rows before an error of the file are not
// the last, whatever error it is.
func TestCSVBounds(t *testing.T) {
	row := strings.Repeat("x", 98) + ",y"
	for _, c := range []struct{ name, text, want string }{
		{"x.csv", "a,b\r\n" + row + "\r\n" + row + "\n" + row, "<nil>"},
		{"x.tsv", "a\tb\r\n" + strings.ReplaceAll(row, ",", "\t") + "\r\n", "<nil>"},
		{"x.csv", "a,b\n1,2\nx" + row + "\n", "behind line 2: a row has more than 100 bytes"},
		{"x.tsv", "a\tb\nx" + strings.ReplaceAll(row, ",", "\t") + "\n", "2! the row has more than 100 bytes"},
		{"x.csv", "a,b\n" + strings.Repeat(",", 99) + "\n", "2! expected 2 columns, found 100"},
	} {
		path := file(t, c.name, c.text)
		rows, err := read(path, Options{Columns: []string{"a", "b"}, MaxField: 100})
		if told := fmt.Sprint(err, rows); !strings.Contains(told, c.want) || c.want == "<nil>" && strings.Contains(told, "!") {
			t.Errorf("%q: %s, expected %q", c.text, told, c.want)
		}
	}
	torn := &window{in: io.MultiReader(strings.NewReader("a,b\n1,2\n3"), iotest.ErrReader(io.ErrUnexpectedEOF)), block: blockBytes, piece: make([]byte, 64)}
	r := &csvReader{comma: ',', delimited: delimited{window: torn, limit: 100}, line: 1}
	for n := 0; ; n++ {
		if s, _, err := r.read(2); err != nil {
			if err != io.ErrUnexpectedEOF || n != 2 {
				t.Errorf("%d rows, then %q, %v", n, s.fields, err)
			}
			break
		}
	}
	before := allocated()
	wide := file(t, "x.csv", "a,b\n"+strings.Repeat(",", 10<<20)+"\n1,2\n")
	if rows, err := read(wide, Options{Columns: []string{"a", "b"}, MaxField: 64 << 20}); err != nil || len(rows) != 2 {
		t.Errorf("%q, %v", rows, err)
	}
	if took := allocated() - before; took > 120<<20 {
		t.Errorf("%d bytes for a row of %d", took, 10<<20)
	}
	must.Fail(t, "names of at most 65536 columns, found 131073")(read(file(t, "x.csv", strings.Repeat(",", 1<<17)+"\n"), Options{}))
}

// TestHeader: a first line that does not name the columns is what was expected, and they are called
// otherwise; lines are counted with it. Another one, and another kind of file, are errors.
func TestHeader(t *testing.T) {
	header := Header{Line: "# by hand, or not", Columns: []string{"what", "size"}}
	open := func(name, text string, columns ...string) (Reader, error) {
		path := filepath.Join(t.TempDir(), name)
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o666))
		return Open(t.Context(), path, Options{Columns: columns, Header: &header})
	}
	for _, end := range []string{"\n", "\r\n"} {
		r := must.Get(open("a.csv", header.Line+end+"C1,2"+end+"\"a,b\",3"+end, "size", "what"))(t)
		defer r.Close()
		for i, want := range [][]string{{"2", "C1"}, {"3", "a,b"}} {
			var row Row
			if err := r.Next(&row); err != nil || row.Err != nil || row.Values[0].Text != want[0] || row.Values[1].Text != want[1] || !strings.HasSuffix(row.Place(), fmt.Sprintf("a.csv:%d", i+2)) {
				t.Fatalf("%+v, %v, expected %q", row, err, want)
			}
		}
		if err := r.Next(&Row{}); err != io.EOF {
			t.Error(err)
		}
	}
	for _, c := range []struct{ name, text, want string }{
		{"a.csv", "what,size\nC1,2\n", `a.csv: first line: expected "# by hand, or not", found "what,size"`},
		{"a.csv", header.Line + " at all\nC1,2\n", `found "# by hand, or not at all"`},
		{"a.csv", "", `expected "# by hand, or not", found ""`},
		{"a.csv", "\"a\"b\n", `found "\"a\"b"`},
		{"a.tsv", header.Line + "\nC1\t2\n", "a.tsv: expected CSV, found a file that is read as tsv"},
	} {
		if r, err := open(c.name, c.text, "what"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, %v, expected %s", c.text, r, err, c.want)
		}
	}
	must.Fail(t, `column "weight": expected one of`)(open("a.csv", header.Line+"\nC1,2\n", "weight"))
}

// FuzzHeader: behind the first line that was expected, rows and errors are those of CSV that names its
// columns, and no other first line is taken.
func FuzzHeader(f *testing.F) {
	header := Header{Line: "# by hand", Columns: []string{"what", "size"}}
	for _, rest := range []string{"", "C1,2\n", "\"a,b\",3\r\nc", "\n\na,b,c\n", "\"a\nb\",1\n\"", "\ufeffa,b\n"} {
		f.Add(header.Line, rest)
		f.Add("what,size", rest)
	}
	path := filepath.Join(f.TempDir(), "x.csv")
	rows := func(t *testing.T, text string, header *Header) (out []string, err error) {
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o666))
		r, err := Open(t.Context(), path, Options{Columns: []string{"size", "what"}, Header: header, MaxField: 1 << 20})
		if err != nil {
			return nil, err
		}
		defer r.Close()
		for {
			var row Row
			if err := r.Next(&row); err != nil {
				return append(out, err.Error()), nil
			}
			out = append(out, fmt.Sprint(row.Line, row.Values, row.Err))
		}
	}
	f.Fuzz(func(t *testing.T, line, rest string) {
		defer testenv.FuzzLimits(t, mostAllocated+200*(len(line)+len(rest)))()
		got, err := rows(t, line+"\n"+rest, &header)
		if line != header.Line {
			if first := strings.TrimLeft(strings.TrimPrefix(line+"\n"+rest, byteOrderMark), "\r\n"); err == nil && !strings.HasPrefix(first, header.Line) {
				t.Fatalf("taken for %q", header.Line)
			}
			return
		}
		want, failed := rows(t, strings.Join(header.Columns, ",")+"\n"+rest, nil)
		if fmt.Sprint(err) != fmt.Sprint(failed) || !slices.Equal(got, want) {
			t.Errorf("%q, %v, expected %q, %v", got, err, want, failed)
		}
	})
}
