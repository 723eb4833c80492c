package table

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// TestBadRows checks that a bad row is reported with its line while reading continues, and that a
// bad file is an error with its name.
func TestBadRows(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		name, text string
		want       []string
		err        string
	}{
		{"line-ends.csv", "a,b\r\n1,2\n3,4\r\n\"5\r\n6\",7\n", []string{"2: 1|2", "3: 3|4", "4: 5\n6|7"}, ""},
		{"line-ends.tsv", "a\tb\r\n1\t2\n3\t4\r\n", []string{"2: 1|2", "3: 3|4"}, ""},
		{"line-ends.jsonl", "{\"a\":1,\"b\":2}\r\n{\"a\":3,\"b\":4}\n\r\n{\"a\":5,\"b\":6}",
			[]string{"1: 1|2", "2: 3|4", "4: 5|6"}, ""},
		{"header.csv", "a,b\n", nil, ""},
		{"empty.csv", "a,b\n\"\",\n", []string{"2: |"}, ""},
		{"counts.tsv", "a\tb\n1\n1\t2\t3\n4\t5\n", []string{"2! expected 2 columns, found 1",
			"3! expected 2 columns, found 3", "4: 4|5"}, ""},
		{"bytes.tsv", "a\tb\n\xc3(\t1\n2\t\x00\n", []string{"2! column a: not UTF-8", "3: 2|\x00"}, ""},
		{"bytes.jsonl", "{\"a\":\"\xff\",\"b\":1}\n{\"a\":\"\\u0000\",\"b\":1}\n{\"a\":\"\x00\",\"b\":1}\n",
			[]string{"1! malformed JSON at byte 7: not UTF-8", "2: \x00|1",
				`3! malformed JSON at byte 7: invalid character '\x00' in string literal`}, ""},
		{"empty.jsonl", "", nil, ""},
		{"lists.jsonl", "{\"a\":[],\"b\":[1e3]}\n{\"a\":[],\"b\":[99999999999999999999]}\n{\"a\":[],\"b\":[-1]}\n{\"a\":[],\"b\":[[1]]}\n{\"a\":[],\"b\":[2147483647]}\n", []string{
			"1! column b: index 0: expected a token id (a plain integer from 0 to 2147483647), found 1e3",
			"2! column b: index 0: expected a token id (a plain integer from 0 to 2147483647), found 99999999999999999999",
			"3! column b: index 0: expected a token id (a plain integer from 0 to 2147483647), found -1",
			"4! column b: index 0: expected a token id (a plain integer from 0 to 2147483647), found a list",
			"5: []|[2147483647]"}, ""},
		{"numbers.jsonl", "{\"a\":1e999,\"b\":123456789012345678901234567890}\n{\"a\":01,\"b\":NaN}\n",
			[]string{"1: 1e999|123456789012345678901234567890",
				"2! malformed JSON at byte 7: invalid character '1' after object key:value pair"}, ""},
		{"objects.jsonl", "{\"a\":{\"a\":1},\"b\":1}\n{\"c\":{\"a\":1},\"b\":1}\n{\"a\":1,\"b\":2,\"c\":1,\"c\":2}\n\"a\"\n", []string{"1! column a: expected a string, a number or a list of numbers, found an object", "2: ∅|1", "3: 1|2", "4! expected a JSON object, found \"a\""}, ""},
		{"deep.jsonl", strings.Repeat("[", 20000) + "\n{\"a\":1,\"b\":2}\n",
			[]string{"1! malformed JSON at byte 10001: invalid character '[' exceeded max depth", "2: 1|2"}, ""},
		{"long.jsonl", "{\"a\":\"" + long + "\"}\n{\"a\":1,\"b\":2}\n",
			[]string{"1! the line has 1048585 bytes, at most 65536 are accepted", "2: 1|2"}, ""},
		{"letters.fa", ">x\nAC\xffT\n>y\nAC\n", []string{"1! the letters are not UTF-8", "3: y|AC"}, ""},
		{"letters.fq", "@x\nAC\n+\n!\xff\n@y\nA\n+\n!\n", []string{"1! the letters are not UTF-8", "5: y|A"}, ""},
		{"headless.fa", "ACGT\nAC\n", nil, "headless.fa: line 1: expected a record that begins with >"},
		{"long.csv", "a,b\n1,2\n" + long + ",1\n", []string{"2: 1|2"},
			"long.csv: after line 2: a row has more than 65536 bytes"},
		{"wide.csv", "\xff\xfea\x00,\x00b\x00\n\x00", nil,
			"wide.csv: expected UTF-8, found UTF-16: convert the file, for example with iconv"},
		{"wide.jsonl", "\xfe\xff\x00{\x00}", nil, "wide.jsonl: expected UTF-8, found UTF-16"},
		{"empty.arrow", "", nil, "empty.arrow: expected an Arrow IPC stream"},
		{"text.arrow", "a,b\n1,2\n", nil, "text.arrow: expected an Arrow IPC stream"},
		{"text.parquet", "a,b\n1,2\n3,4\n", nil, "text.parquet: expected a Parquet file"},
	} {
		columns := []string{"a", "b"}
		if strings.HasSuffix(c.name, "a") || strings.HasSuffix(c.name, "q") {
			columns = []string{"id", "sequence"}
		}
		got, err := readText(writeFile(t, c.name, c.text), Options{Columns: columns, MaxField: 1 << 16})
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: got error %v, want %q", c.name, err, c.err)
		}
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: got rows %.200q, want %q", c.name, got, c.want)
		}
	}
}

// TestLongFields checks that fields of 50 MiB can be read.
func TestLongFields(t *testing.T) {
	testenv.Long(t, "reads 200 MB")
	long := strings.Repeat("ACGT", 50<<20/4)
	for name, text := range map[string]string{"x.csv": "a,b\n" + long + ",1\n", "x.tsv": "a\tb\n" + long + "\t1\n",
		"x.jsonl": `{"a":"` + long + `","b":1}`, "x.fa": ">1\n" + long + "\n"} {
		columns := []string{"a", "b"}
		if name == "x.fa" {
			columns = []string{"sequence", "id"}
		}
		rows, err := readRows(writeFile(t, name, text), Options{Columns: columns})
		if err != nil || len(rows) != 1 || rows[0].Err != nil || rows[0].Values[0].Text != long ||
			rows[0].Values[1].Text != "1" {
			t.Errorf("%s: got %d rows, error %v, want one row with the long field", name, len(rows), err)
		}
	}
}

// TestTruncated checks that a file truncated at any of many lengths, and a compressed file with a
// damaged end, yield an error with the file's name.
func TestTruncated(t *testing.T) {
	var text strings.Builder
	text.WriteString("a,b\n")
	for i := range 300 {
		fmt.Fprintf(&text, "row %d,%d\n", i, i*i)
	}
	for name, whole := range map[string]string{"x.csv.gz": gzipped(text.String()),
		"x.csv.zst": zstandard(t, text.String())} {
		for n := 4; n < len(whole); n += 7 {
			rows, err := readRows(writeFile(t, name, whole[:n]), Options{Columns: []string{"a"}})
			if err == nil || err == io.EOF || !strings.Contains(err.Error(), name) {
				t.Errorf("%s, %d of %d bytes: got %d rows and error %v, want an error with the file's name",
					name, n, len(whole), len(rows), err)
			}
		}
		damaged := []byte(whole)
		damaged[len(damaged)-2] ^= 1 // a byte of the checksum or of the length
		if rows, err := readRows(writeFile(t, name, string(damaged)), Options{Columns: []string{"a"}}); err == nil ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %d rows and error %v, want an error with the file's name for the damaged end",
				name, len(rows), err)
		}
	}
	for _, name := range []string{"polars-newest.arrow", "javascript-large.arrow",
		"polars-uncompressed.arrow", "duckdb-gzip.parquet"} {
		whole := must.Get(os.ReadFile(filepath.Join("testdata", "others", name)))(t)
		for n := 0; n < len(whole); n += 1 + len(whole)/100 {
			if rows, err := readRows(writeFile(t, name, string(whole[:n])),
				Options{Columns: []string{"whole"}}); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s, %d of %d bytes: got %d rows and error %v, want an error with the file's name",
					name, n, len(whole), len(rows), err)
			}
		}
	}
}
