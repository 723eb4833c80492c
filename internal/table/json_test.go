package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/internal/testenv"
)

// TestJSONLists checks that lists of objects and concatenated objects are read one value at a time.
// An invalid value with a known end is an error of its row; other errors end reading.
func TestJSONLists(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		text string
		want []string
		err  string
	}{
		{`[]`, nil, ""},
		{" [ ] \n", nil, ""},
		{`[{"a":1,"b":"x"},{"b":[1,2],"a":null}]`, []string{"1: 1|x", "2: ∅|[1 2]"}, ""},
		{"\xef\xbb\xbf[\n  {\"a\": \"}],{\\\"\",\n   \"b\": \"\\\\\"},\r\n  {\"a\": {\"c\": [1]}, \"b\": 2},\n 7, \"a\", {\"a\":1 \"b\"},\n {\"a\":3,\"b\":4}\n]\n",
			[]string{`1: }],{"|\`, "2! line 4: column a: expected a string, a number or a list of numbers, found an object", "3! line 5: expected a JSON object, found 7", `4! line 5: expected a JSON object, found "a"`,
				`5! the value that begins on line 5: malformed JSON at byte 8: invalid character '"' after object ` +
					"key:value pair", "6: 3|4"}, ""},
		{`[{"a":"` + long + `"},{"a":1,"b":2}]`,
			[]string{"1! line 1: expected at most 200 bytes, found a value of 308", "2: 1|2"}, ""},
		{"{\n \"a\": 1,\n \"b\": 2\n}\n{\"a\": 3,\n \"b\": 4}\n", []string{"1: 1|2", "2: 3|4"}, ""},
		{"{\"a\":1,\"b\":2}\n{\"a\":3,\n\n{\"a\":5,\"b\":6}\n",
			[]string{"1: 1|2", "2! malformed JSON at byte 7: unexpected end of JSON input", "4: 5|6"}, ""},
		{`{"a":1,"b":2}`, []string{"1: 1|2"}, ""},
		{"", nil, "x.json: expected a JSON list of objects, found an empty file"},
		{"\na,b\n", nil, `x.json: line 2: expected a JSON list of objects, or objects, found 'a'`},
		{"[{\"a\":1,\"b\":2},\n{\"a\":3", []string{"1: 1|2"},
			"x.json: line 2: the file ends within a value that begins on line 2"},
		{"[{\"a\":1,\"b\":2}\n", []string{"1: 1|2"}, "x.json: line 2: the file ends within a list"},
		{"[{\"a\":1,\"b\":2},\n", []string{"1: 1|2"}, "x.json: line 2: the file ends within a list"},
		{"[{\"a\":1,\"b\":2},\n]", nil, "line 2: expected a value after the comma, found the end of the list"},
		{"[{\"a\":1,\"b\":2}\n{\"a\":1}]", nil, "line 2: expected a comma or the end of the list, found '{'"},
		{"[{\"a\":1,\"b\":2}] x", []string{"1: 1|2"}, "line 1: expected the end of the file after the list, found 'x'"},
		{"[{\"a\":1,\n\"b\":[2}]", nil, "line 2: found '}', which closes no open list or object"},
		{"[{\"a\":\"open\n\"}]", nil, "line 1: a string is not closed before the end of the line"},
		{"[,]", nil, "line 1: expected a value, found a comma"},
		{"[" + strings.Repeat("[", 20000), nil, "line 1: expected at most 10000 nested lists and objects"},
		{"{\n\"a\":1}\n]", []string{"1: 1|∅"}, "line 3: expected an object, found ']'"},
	} {
		for ending, text := range map[string]string{"": c.text, ".gz": gzipped(c.text)} {
			got, err := readText(writeFile(t, "x.json"+ending, text),
				Options{Columns: []string{"a", "b"}, MaxField: 200})
			wrong := strings.Replace(c.err, "x.json", "x.json"+ending, 1)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), wrong) {
				t.Errorf("%.60q: got error %v, want %q", text, err, wrong)
			}
			if c.want != nil && strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("%.60q: got %q, want %q", text, got, c.want)
			}
		}
	}
	for _, line := range []string{"[", `[{"a":1},`} {
		if got, err := readText(writeFile(t, "x.jsonl", line+"\n{\"a\":1}\n"),
			Options{Columns: []string{"a"}}); err != nil ||
			len(got) != 2 || !strings.HasSuffix(got[0], "(read a file that is a single JSON list with --format json)") {
			t.Errorf("%q: got %q, %v, want 2 rows, the first with a hint of --format json", line, got, err)
		}
	}
}

// repeatedText is a reader of n repetitions of text.
type repeatedText struct {
	n    int
	text string
	rest string
}

func (r *repeatedText) Read(b []byte) (int, error) {
	if r.rest == "" {
		if r.n--; r.n < 0 {
			return 0, io.EOF
		}
		r.rest = r.text
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// TestJSONListMemory checks that reading a value far beyond the limit, or a list of many values,
// allocates a bounded number of bytes.
func TestJSONListMemory(t *testing.T) {
	for _, c := range []struct {
		name     string
		text     io.Reader
		rows     int
		maxBytes uint64 // maximum allocated bytes
	}{
		{"a long value", io.MultiReader(strings.NewReader(`[{"a":"`),
			&repeatedText{n: 1000, text: strings.Repeat("x", 50000)}, strings.NewReader(`"},{"a":"x"}]`)), 2, 4 << 20},
		{"many values", io.MultiReader(strings.NewReader("["), &repeatedText{n: 2000, text: strings.Repeat("12,", 10)},
			strings.NewReader("{}]")), 20001, 64 << 20},
	} {
		in := must.Get(source.Decompress(c.text))(t)
		before, rows := allocated(), 0
		r, err := newJSON(&source.Source{Reader: in, Name: c.name}, Options{Columns: []string{"a"}, MaxField: 1 << 16})
		must.Succeed(t, err)
		for row := (Row{}); err == nil; rows++ {
			err = r.Next(&row)
		}
		if allocation := allocated() - before; err != io.EOF || rows-1 != c.rows || allocation > c.maxBytes {
			t.Errorf("%s: got %d rows, %v, %d allocated bytes, want %d rows, io.EOF and at most %d bytes", c.name,
				rows-1, err, allocation, c.rows, c.maxBytes)
		}
	}
}

// TestJSONPaths checks that a column is a key or a path, and that a key equal to the whole path
// takes precedence.
func TestJSONPaths(t *testing.T) {
	const object = `{"doc":{"body":"text","n":{"deep":[[1,2],[3]]}},"messages":[{"role":"user","content":"hello"},{"role":"bot","content":"bye"}],"a.b":"key","a":{"b":"path","c.d":"inner","c":{"d":"no"}},"x":null,"empty":[],"[0]":"bracket"}`
	for path, want := range map[string]string{
		"doc.body": "text", "messages[0].content": "hello", "messages.1.content": "bye", "messages[-1].role": "bot",
		"doc.n.deep[0]": "[1 2]", "doc.n.deep.1": "[3]", "doc.n.deep[1][0]": "3",
		"a.b": "key", "a.c.d": "inner", "[0]": "bracket", "x": "∅", "x.y": "∅", "doc.body.more": "∅",
		"messages[2].content": "∅", "messages[x]": "∅", "messages.": "∅", "a.": "∅", ".": "∅", "[": "∅",
		"": "∅", "empty[0]": "∅",
		"doc[body]": "∅",
	} {
		for name, text := range map[string]string{"x.jsonl": object + "\n", "x.json": "[" + object + "]"} {
			got, err := readText(writeFile(t, name, text), Options{Columns: []string{path}})
			if err != nil || len(got) != 1 || got[0] != "1: "+want {
				t.Errorf("%s of %s: got %q, %v, want %q", path, name, got, err, want)
			}
		}
	}
	var found []string
	absent := func(_, column string, columns []string) { found = append(columns, column) }
	must.Get(readText(writeFile(t, "x.json", "["+object+"]"),
		Options{Columns: []string{"doc.body", "body"}, MissingColumn: absent}))(t)
	if want := []string{"[0]", "a.b", "a.b", "a.c.d", "a.c.d", "doc.body", "doc.n.deep", "empty", "messages[0].content",
		"messages[0].role", "x", "body"}; !slices.Equal(found, slices.Compact(want)) {
		t.Errorf("got columns %q, want %q", found, want)
	}
	var list *ColumnError
	rows, err := readRows(writeFile(t, "x.jsonl", `{"a":["x","y"]}`), Options{Columns: []string{"a"}})
	if err != nil || len(rows) != 1 || !errors.As(rows[0].Err, &list) || !list.IsList || list.Column != "a" {
		t.Errorf("got %+v, %v, want a ColumnError of a list", rows, err)
	}
}

// stdlibPath returns the value at a path in a value decoded by encoding/json.
func stdlibPath(value any, path string) any {
	switch value := value.(type) {
	case map[string]any:
		if v, ok := value[path]; ok {
			return v
		}
		for i := range path {
			if i > 0 && path[i] == '.' || path[i] == '[' && i > 0 {
				return stdlibPath(value[path[:i]], strings.TrimPrefix(path[i:], "."))
			}
		}
	case []any:
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		n, err := strconv.Atoi(path[:end])
		if err == nil && n < 0 {
			n += len(value)
		}
		if err != nil || n < 0 || n >= len(value) {
			return nil
		}
		if end == len(path) {
			return value[n]
		}
		return stdlibPath(value[n], strings.TrimPrefix(path[end:], "."))
	}
	return nil
}

// FuzzJSONPath checks that lookUp returns the same value as a search in the object decoded by
// encoding/json.
func FuzzJSONPath(f *testing.F) {
	f.Add(`{"a":{"b":[1,{"c":2}]}}`, "a.b.1.c")
	f.Add(`{"a.b":1,"a":{"b":2}}`, "a.b")
	f.Add(`{"a":[[1],[2,3]]}`, "a.-1.0")
	f.Add(`{"a":null,"b":{"":1}}`, "b.")
	f.Add(`{"a.b":null,"a":{"b":2}}`, "a.b")
	f.Fuzz(func(t *testing.T, object, path string) {
		defer testenv.FuzzLimits(t, 4<<20+2000*(len(object)+len(path)))()
		columns := newJSONColumns("x", Options{Columns: []string{path}})
		var row Row
		columns.read(&row, []byte(object)) // must not panic
		var whole map[string]any
		d := json.NewDecoder(strings.NewReader(object))
		d.UseNumber()
		if strings.ContainsAny(path, "[]") || strings.Contains(path, "..") || strings.HasPrefix(path, ".") ||
			strings.HasSuffix(path, ".") || d.Decode(&whole) != nil || row.Err != nil {
			return
		}
		fields := map[string]json.RawMessage{}
		if json.Unmarshal([]byte(object), &fields) != nil {
			return
		}
		found, err := lookUp(fields, path)
		if err != nil {
			return // the object has a duplicate key
		}
		var got any
		if found != nil {
			inner := json.NewDecoder(strings.NewReader(string(found)))
			inner.UseNumber()
			must.Succeed(t, inner.Decode(&got))
		}
		if want := stdlibPath(whole, path); !reflect.DeepEqual(got, want) {
			t.Errorf("%q of %s: got %v, want %v", path, object, got, want)
		}
	})
}

// FuzzJSONList checks that a list is split into the same values as by encoding/json, and that reading
// any text terminates without a panic.
func FuzzJSONList(f *testing.F) {
	for _, text := range []string{`[]`, `[{"a":1}]`, "[ {\"a\":\"x\\\"]\"} ,\n{\"a\":[1,2]},3,\"s\",null,true ]",
		`[{"a":{"b":"}"}}]x`, "{\n\"a\":1}{\n\"a\":2}", "{\"a\":1}\n{\"a\":2}", `["\u005d",{}]`, `[1,,2]`, `[[[[]]]]`} {
		f.Add(text)
	}
	path := writeFile(f, "x.json", "")
	f.Fuzz(func(t *testing.T, text string) {
		defer testenv.FuzzLimits(t, 4<<20+2000*len(text))()
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o666))
		rows, err := readRows(path, Options{Columns: []string{"a"}, MaxField: 1 << 16})
		for i, row := range rows {
			if i > 0 && row.Line <= rows[i-1].Line {
				t.Fatalf("got row %d after row %d", row.Line, rows[i-1].Line)
			}
		}
		var list []json.RawMessage
		if !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "[") || json.Unmarshal([]byte(text), &list) != nil {
			return
		}
		if err != nil || len(rows) != len(list) {
			t.Fatalf("%q: got %d rows, error %v; want %d rows", text, len(rows), err, len(list))
		}
		for i, value := range list {
			want := newJSONColumns(path, Options{Columns: []string{"a"}})
			var row Row
			want.read(&row, value)
			if fmt.Sprint(row.Values) != fmt.Sprint(rows[i].Values) || (row.Err == nil) != (rows[i].Err == nil) {
				t.Errorf("value %d of %q: got %v %v, want %v %v", i, text, rows[i].Values, rows[i].Err,
					row.Values, row.Err)
			}
		}
	})
}
