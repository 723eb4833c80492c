package table

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// writeFile writes a file and returns its path.
func writeFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

// readText returns each row as "line: value|value", or "line! error" for a bad row.
func readText(path string, o Options) (rows []string, err error) {
	found, err := readRows(path, o)
	for _, row := range found {
		if row.Err != nil {
			rows = append(rows, fmt.Sprintf("%d! %v", row.Line, row.Err))
			continue
		}
		var values []string
		for _, v := range row.Values {
			switch {
			case v.Null:
				values = append(values, "∅")
			case v.Tokens != nil:
				values = append(values, fmt.Sprint(v.Tokens))
			case v.Items != nil:
				values = append(values, fmt.Sprint(v.Items))
			default:
				values = append(values, v.Text)
			}
		}
		rows = append(rows, fmt.Sprintf("%d: %s", row.Line, strings.Join(values, "|")))
	}
	return rows, err
}

// gzipped returns a text compressed by gzip.
func gzipped(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write([]byte(text))
	w.Close()
	return out.String()
}

// zstandard returns a text compressed by Zstandard.
func zstandard(t testing.TB, text string) string {
	t.Helper()
	w := must.Get(zstd.NewWriter(nil))(t)
	return string(w.EncodeAll([]byte(text), nil))
}

// TestFormats checks the rows of CSV, TSV and JSON lines, each also compressed by gzip and
// Zstandard.
func TestFormats(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"x.csv", "b,a,c\n2,1,3\n", []string{"2: 1|2"}},
		{"x.csv", "\xef\xbb\xbfa,b\r\n1,2\r\n\r\n3,4", []string{"2: 1|2", "4: 3|4"}},
		{"x.csv", "a,b\n\"x\"\"y\",\"multi\nline, comma\"\n1,2\n", []string{"2: x\"y|multi\nline, comma", "4: 1|2"}},
		{"x.csv", "a,b\nno\"quote,1\n1,2,3\n\"open\"x,1\n4,5\n", []string{"2! column 3: found a quote in an " +
			"unquoted field: quote the field, and double the quotes within it",
			"3! expected 2 columns, found 3", "4! column 6: expected a delimiter or the end of the line after the " +
				"quote: double the quotes within a quoted field", "5: 4|5"}},
		{"x.csv", "a,b\n\xff,1\n1,\x00\n", []string{"2! column a: not UTF-8", "3: 1|\x00"}},
		{"x.tsv", "b\ta\n2\t1\nfive \"quoted\" words\ta, b\n", []string{"2: 1|2", `3: a, b|five "quoted" words`}},
		{"x.tsv", "\xef\xbb\xbf\"a\"\tb\r\n\"Great\" film\t1\r\n\n\"open\t2\nends in \"it\"\t\"3\"\n\"a \"\"b\"\" c\"\t\"\"\n1\t2\t3\n\xff\t1\nlast\t4",
			[]string{`2: "Great" film|1`, `4: "open|2`, `5: ends in "it"|3`, `6: a "b" c|`,
				"7! expected 2 columns, found 3", "8! column a: not UTF-8", "9: last|4"}},
		{"x.jsonl", `{"a":"é","b":1.50,"c":{}}` + "\n\n" + `{"b":null,"a":[1,2]}` + "\n",
			[]string{"1: é|1.50", "3: [1 2]|∅"}},
		{"x.ndjson", "{\"a\":1\n[]\n{\"a\":{},\"b\":1}\n{\"a\":1,\"a\":2}\n{\"a\":true,\"b\":[1.5]}\n{\"a\":\"x\",\"b\":\"y\"}\n",
			[]string{"1! malformed JSON at byte 6: unexpected end of JSON input",
				"2! expected a JSON object, found a list",
				"3! column a: expected a string, a number or a list of numbers, found an object",
				"4! the field a occurs twice",
				"5! column b: index 0: expected a token id (a plain integer from 0 to 2147483647), found 1.5",
				"6: x|y"}},
	} {
		for ending, text := range map[string]string{"": c.text, ".gz": gzipped(c.text), ".zst": zstandard(t, c.text)} {
			got, err := readText(writeFile(t, c.name+ending, text), Options{Columns: []string{"a", "b"}})
			if err != nil || strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("%s%s %q: got %q, %v; want %q", c.name, ending, c.text, got, err, c.want)
			}
		}
	}
}

// TestFASTA checks the records of FASTA and FASTQ, and the errors for malformed files.
func TestFASTA(t *testing.T) {
	for _, c := range []struct {
		name, text string
		columns    []string
		want       []string
	}{
		{"x.fa", ">one first of all\nACGT\n\nAC \n; a comment\n>two\r\nGG\r\n>\n>four\nT",
			[]string{"sequence", "id", "description"},
			[]string{"1: ACGTAC|one|first of all", "6: GG|two|", "8: ||", "9: T|four|"}},
		{"x.fastq", "@r1 x y\nACGT\n+\n!!!!\n\n@r2\nAC\n+r2\n@@\n@r3\nACG\n+\n!!\n",
			[]string{"id", "sequence", "quality"},
			[]string{"1: r1|ACGT|!!!!", "6: r2|AC|@@", "10! expected 3 quality scores, one for each letter, found 2"}},
		{"x.fasta", ">long\n" + strings.Repeat("ACGTACGTAC\n", 30) + ">short\nAC\n", []string{"id", "sequence"},
			[]string{"1! the record has more than 200 bytes", "32: short|AC"}},
		{"x.fa", "\ufeff\n \t\n>s1\tfirst desc\nACGT AC\tGT\vA\n>s2 \tsecond\nAAAAAAAAAA CCCCCCCCCC\n",
			[]string{"id", "description", "sequence"},
			[]string{"3: s1|first desc|ACGTACGTA", "5: s2|second|AAAAAAAAAACCCCCCCCCC"}},
		{"x.fq", "\ufeff\n@r1\tx y\nAC GT\t\n+\n!! !!\n \n@r2\u00a0z\nAC\n+\n!!\n",
			[]string{"id", "description", "sequence", "quality"},
			[]string{"2: r1|x y|ACGT|!!!!", "7: r2|z|AC|!!"}},
		{"x.fna", ">\xff\nAC\n>b\nC\n", []string{"id"}, []string{"1! the header is not UTF-8", "3: b"}},
	} {
		for ending, text := range map[string]string{"": c.text, ".gz": gzipped(c.text)} {
			got, err := readText(writeFile(t, c.name+ending, text), Options{Columns: c.columns, MaxField: 200})
			if err != nil || strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("%s%s %.60q: got %q, %v; want %q", c.name, ending, c.text, got, err, c.want)
			}
		}
	}
	for _, c := range []struct{ name, text, want string }{
		{"x.fa", "", "found an empty file"},
		{"x.fa", "\n\n", "found an empty file"},
		{"x.fa", "\nACGT\n", `line 2: expected a record that begins with >, found "ACGT"`},
		{"x.fa", "ACGT\n", `line 1: expected a record that begins with >, found "ACGT"`},
		{"x.fa", ">a\n" + strings.Repeat("A", 300), "line 1: the line has more than 200 bytes"},
		{"x.fq", "@a\nAC\n+\n", "line 3: unexpected EOF"},
		{"x.fq", "@a\nAC\nAC\n!!\n", `line 4: expected a line that begins with +, found "AC"`},
		{"x.fq", "@a\nAC\n+\n!!\nAC\n", `line 5: expected a record that begins with @, found "AC"`},
	} {
		must.Fail(t, c.want, c.name,
			c.text)(readText(writeFile(t, c.name, c.text), Options{Columns: []string{"sequence"}, MaxField: 200}))
	}
}

// TestFolder checks that a folder has a row per file, without hidden files, and that a file beyond
// the limit is an error of its row.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"train/dog/b.txt": "woof\xff", "train/dog/a.txt": "wuff",
		"test/cat/a.txt": "", "cat.txt": "alone", ".hidden/x": "x", "test/cat/.x": "x",
		"test/cat/long.txt": strings.Repeat("x", 300)} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		os.MkdirAll(filepath.Dir(path), 0o777)
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o666))
	}
	total := int64(0)
	got, err := readText(dir, Options{Columns: FolderColumns, MaxField: 200, Progress: func(n int64) { total += n }})
	want := []string{"0: alone|||cat.txt", "0: |cat|test|test/cat/a.txt", "0! the file has more than 200 bytes",
		"0: wuff|dog|train|train/dog/a.txt", "0: woof\xff|dog|train|train/dog/b.txt"}
	if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") || total != 5+4+5+201 {
		t.Errorf("got %q, %v, %d bytes; want %q and 215 bytes", got, err, total, want)
	}
	must.Fail(t, "found no file")(readText(t.TempDir(), Options{Columns: FolderColumns}))
}

// TestBadTables checks the errors for files that cannot be read, and for rows beyond the limit.
func TestBadTables(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, c := range []struct{ name, text, want string }{
		{"x.csv", "", "x.csv: expected a header with column names, found an empty file"},
		{"x.csv", "a,c\n1,2\n", `x.csv: column "b": expected one of "a", "c"`},
		{"x.csv", "\x89PNG\r\n\x1a\n",
			"x.csv: expected a table of text, found a file of the format PNG: pass a table, or name the format of " +
				"the file with --format"},
		{"x.csv", "a,b,a\n1,2,3\n", `x.csv: column "a": expected one column of this name, found 2`},
		{"x.csv", "a,b\n1,2\n3,\"" + strings.Repeat("open\n", 5000),
			"x.csv: after line 2: a row has more than 200 bytes: is a quote not closed?"},
		{"x.csv", "a,b\n1,2\n3,\"open\n5,6\n7,8\n", "x.csv:3: a quoted field is not closed before line 5"},
		{"x.csv", "a,b\n1,2\n\"open,3\n5,6\n\"7\",8\n9,10\n",
			"x.csv:3: a quoted field is not closed before line 5"},
		{"x.csv", "a,b\n1,2\n3,\"open\n", "x.csv:3: a quoted field is not closed before line 3, column 9"},
		{"x.csv", "a,b\n1,2\n3,\"", "x.csv:3: a quoted field is not closed before line 3, column 4"},
		{"x.csv", "a,\"b\n1,2\n", "x.csv: line 1: column 5: a quoted field is not closed"},
		{"x.tsv", "", "x.tsv: expected a header with column names, found an empty file"},
		{"x.tsv", "a\tc\n1\t2\n", `x.tsv: column "b": expected one of "a", "c"`},
		{"x.tsv", "a\tb" + long + "\n", "x.tsv: the header has more than 200 bytes"},
		{"x.csv", gzipped("a,b\n1,2\n")[:25], "the file is incomplete: the gzip data end too early"},
		{"x.csv", "\x1f\x8b", "x.csv"},
		{"x.csv", zstandard(t, strings.Repeat("a,b\n1,2\n", 100))[:30],
			"the file is incomplete: the Zstandard data end too early"},
		{"x.jsonl", gzipped("{}\n")[:14], "x.jsonl: "},
		{"x.doc", "", "unknown format: expected a file name"},
		{"x", "", "expected a file name that ends in .csv"},
	} {
		must.Fail(t, c.want, c.name,
			c.text)(readText(writeFile(t, c.name, c.text), Options{Columns: []string{"a", "b"}, MaxField: 200}))
	}
	if got, err := readText(writeFile(t, "x.jsonl", `{"a":"`+long+"\"}\n{\"a\":1,\"b\":2}\n"),
		Options{Columns: []string{"a", "b"}, MaxField: 200}); err != nil || len(got) != 2 ||
		!strings.Contains(got[0], "the line has 309 bytes, at most 200") || got[1] != "2: 1|2" {
		t.Errorf("x.jsonl: got %q, %v, want an error of the first row and 2: 1|2", got, err)
	}
	if got, err := readText(writeFile(t, "x.tsv", "a\tb\n1\t2\n"+long+"\t"+long+"\n3\t4"),
		Options{Columns: []string{"a", "b"}, MaxField: 200}); err != nil ||
		!slices.Equal(got, []string{"2: 1|2", "3! the row has more than 200 bytes", "4: 3|4"}) {
		t.Errorf("x.tsv: got %q, %v, want 2: 1|2, an error of row 3, and 4: 3|4", got, err)
	}
	must.Fail(t, `format "xml": expected one of csv, tsv, jsonl, parquet, arrow, fasta, fastq`)(readText(writeFile(t,
		"x",
		"a\n"), Options{Format: "xml"}))
	must.Fail(t, "unknown format of standard input")(readText(StandardInput, Options{}))
	must.Fail(t, "", "a missing file")(readText("no/file.csv", Options{}))
}

// FuzzTable checks that reading any file terminates without a panic, with a value for each column
// and increasing line numbers.
func FuzzTable(f *testing.F) {
	f.Add("a,b\n1,\"2\n\"\n", uint8(0))
	f.Add("a\tb\n1\t\"2\n", uint8(1))
	f.Add("{\"a\":[1],\"b\":\"x\"}\n", uint8(2))
	f.Add(gzipped("a,b\n1,2\n"), uint8(0))
	f.Add(">x y\nAC\n>z\n", uint8(5))
	f.Add("@x y\nAC\n+\n!!\n", uint8(6))
	f.Add("[{\"a\":1,\"b\":\"]\"},\n{}]", uint8(7))
	f.Add("one\r\n\n\xfftwo", uint8(8))
	f.Add("a X O\n\n# b\n#\tc\n\n", uint8(9))
	f.Add("CC ethane\r\n\n C\tmethane 1\n\xff", uint8(8))
	path := writeFile(f, "x", "")
	f.Fuzz(func(t *testing.T, text string, format uint8) {
		defer testenv.FuzzLimits(t, maxAllocated+200*len(text))()
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o666))
		columns := []string{"a", "b"}
		kind := Formats[int(format)%len(Formats)]
		if kind == "fasta" || kind == "fastq" {
			columns = []string{"id", "sequence"}
		}
		if kind == "text" {
			columns = TextColumns
		}
		if kind == "conll" {
			columns = []string{"token", "tag", "2"}
		}
		readToEnd(t, path, Options{Columns: columns, Format: kind, MaxField: 1 << 16})
	})
}
