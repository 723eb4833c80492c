package table

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// csvRows returns the rows of a text and the final error, as csvReader reads them in blocks of at
// least the given size.
func csvRows(text string, comma byte, block int) (rows []string) {
	r := &csvReader{comma: comma,
		delimited: delimited{window: &window{in: strings.NewReader(text), block: block, piece: make([]byte, 7)},
			limit: 1 << 20}, line: 1}
	for {
		s, _, err := r.read(1 << 20)
		var bad *csvError
		switch {
		case errors.As(err, &bad):
			rows = append(rows, fmt.Sprintf("%d! %d:%d %v", r.previous, r.previous+int64(bad.line), bad.column,
				bad.err))
		case err != nil:
			return append(rows, err.Error())
		default:
			rows = append(rows, fmt.Sprintf("%d: %q", r.previous, s.fields))
		}
	}
}

// stdlibRows returns the rows of a text and the final error, as encoding/csv reads them.
func stdlibRows(text string, comma byte) (rows []string) {
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

// FuzzCSV checks that the rows, lines and errors of any text equal those of encoding/csv, wherever
// blocks end.
func FuzzCSV(f *testing.F) {
	for _, text := range []string{
		"", "\n", "\r", "\r\n", "a", "a,b\n1,2\n", "a,b\r\n1,2\r\n\r\n3,4", "a,\n,\n,b", "a\r", "a\r\r\n\r\r\n",
		"a\rb,c\n", "\"a\r", "\"\n\r", "\"a\r\r", "\"a\r\n",
		"\"a\"", "\"a\"\r", "\"a\"\r\n", "\"a\",\"b\"\n", "\"a\"\"b\"\n", "\"\"\"\"", "\"\"", "\"\",\"\"\n",
		"\"a\nb\",c\nd\n", "\"a\r\nb\r\n\",c\r\nd",
		"a\"b,c\n1,2\n", "\"a\"b,c\n1,2\n", "\"a\nb\"c\n1,2\n", "\"a\nb\",c\"d\n1,2\n", "a,\"b", "a,\"b\n",
		"a,\"b\nc\n", "\"a\"\r\r\n", "\"a\" ,b\n",
		"a, \"b\"\n", "\"a\nb\"\"\n\"\n", "\x00,\xff\n", "a,b\n\"" + strings.Repeat("long,\n", 20) + "\"\n1,2",
	} {
		f.Add(text, byte(','))
		f.Add(strings.ReplaceAll(text, ",", ";"), byte(';'))
		f.Add(strings.ReplaceAll(text, ",", "\t"), byte('\t'))
	}
	f.Fuzz(func(t *testing.T, text string, comma byte) {
		defer testenv.FuzzLimits(t, 4<<20+2000*len(text))()
		if d, err := ParseDelimiter(string(rune(comma))); err != nil || d != comma {
			return // not a delimiter
		}
		want := stdlibRows(text, comma)
		for _, block := range []int{1, 3, blockBytes} {
			if found := csvRows(text, comma, block); !slices.Equal(found, want) {
				t.Errorf("%q in blocks of %d:\ngot\n%s\nwant\n%s", text, block, found, want)
			}
		}
	})
}

// TestCSVBounds checks that a row may have MaxField bytes without its line end, that fields beyond
// the columns are counted but not kept, and that rows before a read error are returned.
func TestCSVBounds(t *testing.T) {
	row := strings.Repeat("x", 98) + ",y"
	for _, c := range []struct{ name, text, want string }{
		{"x.csv", "a,b\r\n" + row + "\r\n" + row + "\n" + row, "<nil>"},
		{"x.tsv", "a\tb\r\n" + strings.ReplaceAll(row, ",", "\t") + "\r\n", "<nil>"},
		{"x.csv", "a,b\n1,2\nx" + row + "\n", "after line 2: a row has more than 100 bytes"},
		{"x.tsv", "a\tb\nx" + strings.ReplaceAll(row, ",", "\t") + "\n", "2! the row has more than 100 bytes"},
		{"x.csv", "a,b\n" + strings.Repeat(",", 99) + "\n", "2! expected 2 columns, found 100"},
	} {
		path := writeFile(t, c.name, c.text)
		rows, err := readText(path, Options{Columns: []string{"a", "b"}, MaxField: 100})
		if got := fmt.Sprint(err, rows); !strings.Contains(got, c.want) || c.want == "<nil>" &&
			strings.Contains(got, "!") {
			t.Errorf("%q: got %s, want %q", c.text, got, c.want)
		}
	}
	torn := &window{in: io.MultiReader(strings.NewReader("a,b\n1,2\n3"), iotest.ErrReader(io.ErrUnexpectedEOF)),
		block: blockBytes, piece: make([]byte, 64)}
	r := &csvReader{comma: ',', delimited: delimited{window: torn, limit: 100}, line: 1}
	for n := 0; ; n++ {
		if s, _, err := r.read(2); err != nil {
			if err != io.ErrUnexpectedEOF || n != 2 {
				t.Errorf("got %d rows, then %q, %v, want 2 rows and ErrUnexpectedEOF", n, s.fields, err)
			}
			break
		}
	}
	before := allocated()
	wide := writeFile(t, "x.csv", "a,b\n"+strings.Repeat(",", 10<<20)+"\n1,2\n")
	if rows, err := readText(wide, Options{Columns: []string{"a", "b"}, MaxField: 64 << 20}); err != nil ||
		len(rows) != 2 {
		t.Errorf("got rows %q, %v, want 2 rows", rows, err)
	}
	if took := allocated() - before; took > 120<<20 {
		t.Errorf("got %d allocated bytes for a row of %d bytes, want at most %d", took, 10<<20, 120<<20)
	}
	must.Fail(t, "expected a header of at most 65536 columns, found 131073")(readText(writeFile(t, "x.csv",
		strings.Repeat(",", 1<<17)+"\n"),
		Options{}))
}

// TestRepeatedHeader checks that a repeated header row, as in concatenated files, is an error. A row that equals only a part of the header, or a header of one column, is accepted.
func TestRepeatedHeader(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"x.csv", "text,label\na,x\ntext,label\nb,y\n", "3! expected values, found the header again"},
		{"x.tsv", "text\tlabel\na\tx\n\"text\"\tlabel\nb\ty\n", "3! expected values, found the header again"},
		{"x.csv", "text,label\ntext,x\n", "<nil>"},
		{"x.csv", "text\ntext\n", "<nil>"},
	} {
		rows, err := readText(writeFile(t, c.name, c.text), Options{Columns: []string{"text"}})
		if got := fmt.Sprint(err, rows); !strings.Contains(got, c.want) || c.want == "<nil>" &&
			strings.Contains(got, "!") {
			t.Errorf("%q: got %s, want %q", c.text, got, c.want)
		}
	}
}
