package table

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// csvRows are the rows of a text, and how it ends: those of this package, read in blocks
// of so many bytes at least.
func csvRows(text string, block int) (rows []string) {
	r := &csvReader{window: &window{in: strings.NewReader(text), block: block, piece: make([]byte, 7)}, limit: 1 << 20, line: 1}
	for {
		_, err := r.read()
		var bad *csvError
		switch {
		case errors.As(err, &bad):
			rows = append(rows, fmt.Sprintf("%d! %d:%d %v", r.last, r.last+int64(bad.line), bad.column, bad.err))
		case err != nil:
			return append(rows, err.Error())
		default:
			rows = append(rows, fmt.Sprintf("%d: %q", r.last, r.fields))
		}
	}
}

// theirRows are those of encoding/csv.
func theirRows(text string) (rows []string) {
	r := csv.NewReader(strings.NewReader(text))
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
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want := theirRows(text)
		for _, block := range []int{1, 3, blockBytes} {
			if found := csvRows(text, block); !slices.Equal(found, want) {
				t.Errorf("%q in blocks of %d:\n%s, expected\n%s", text, block, found, want)
			}
		}
	})
}
