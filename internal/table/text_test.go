package table

import (
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestText checks that each non-empty line of a text file is a row, or a row error if it is not UTF-8
// or too long. An incomplete gzip file is an error, and a file of empty lines has no rows.
func TestText(t *testing.T) {
	text := "\xef\xbb\xbffirst, \"line\"\r\n\n \xff\n" + strings.Repeat("x", 300) + "\n\n\nlast\tone"
	want := []string{"1: x.log|first, \"line\"|1", "3! not UTF-8",
		"4! the line has more than 200 bytes", "7: x.log|last\tone|7"}
	got, err := readText(writeFile(t, "x.log", text), Options{Columns: []string{"file", "text", "line"}, MaxField: 200})
	if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if got, err := readText(writeFile(t, "x.txt.gz", gzipped(text)[:40]),
		Options{Columns: []string{"text"}}); err == nil ||
		!strings.Contains(err.Error(), "x.txt.gz: after line 5: the file is incomplete: the gzip data end too early") {
		t.Errorf("incomplete gzip file: got %q, %v, want an error after line 5", got, err)
	}
	if got, err := readText(writeFile(t, "x.txt", "\n\n"), Options{Columns: []string{"text"}}); err != nil ||
		len(got) > 0 {
		t.Errorf("got %q, %v, want no rows", got, err)
	}
}

// TestDelimiters checks that CSV is read with other delimiters. If another delimiter or format would
// fit, the error for a wrong one suggests it. The test also checks the values of --delimiter.
func TestDelimiters(t *testing.T) {
	for _, c := range []struct {
		name, text string
		delimiter  byte
		want, err  string
	}{
		{"x.csv", "a;b\n\"1;\"\"2\";3\n", ';', "2: 1;\"2|3", ""},
		{"x.csv", "a\tb\n\"1\n\t\"\t3\n", '\t', "2: 1\n\t|3", ""},
		{"x.csv", "a;b\n1;2\n", 0, "",
			`x.csv: column "a": expected one of "a;b"; the delimiter seems to be ';': read the file with --format csv --delimiter ';'`},
		{"x.csv", "x;\"a\";b,c\n1;2\n", 0, "",
			`x.csv: line 1: column 3: found a quote in an unquoted field: quote the field, and double the quotes within it; the delimiter seems to be ';': read the file with --format csv --delimiter ';'`},
		{"x.csv", "\n\"a\";\"b\"\n1;2\n", 0, "",
			`x.csv: line 2: column 3: expected a delimiter or the end of the line after the quote: double the quotes within a quoted field; the delimiter seems to be ';': read the file with --format csv --delimiter ';'`},
		{"x.csv", "\x7fELF;\x00\x01a\"\n;b\n", 0, "", "x.csv: expected a table of text, found binary data: pass a " +
			"table, or name " +
			"the format of the file with --format"},
		{"x.tsv", "\x7fELF;\x00\x01a\n", 0, "", "x.tsv: expected a table of text, found binary data: pass a " +
			"table, or name " +
			"the format of the file with --format"},
		{"x.csv", "one|two\n1;2\n", 0, "", `the delimiter seems to be '|': read the file with --format csv --delimiter '|'`},
		{"x.csv", "a\tb\n1;2\n", 0, "", `--delimiter 'tab'`},
		{"x.csv", "a,b\n1,2\n", ';', "", `--delimiter ','`},
		{"x.tsv", "a,b\n1,2\n", 0, "", `--delimiter ','`},
		{"x.csv", "c,d;e\n", 0, "", `"c", "d;e"`},
		{"x.tsv", "a\tb\n", ';', "",
			"x.tsv: found a delimiter for the format tsv, expected CSV (--format csv)"},
	} {
		got, err := readText(writeFile(t, c.name, c.text), Options{Columns: []string{"a", "b"}, Delimiter: c.delimiter})
		if strings.Join(got, "\n") != c.want || (err == nil) != (c.err == "") || err != nil &&
			!strings.HasSuffix(err.Error(), c.err) {
			t.Errorf("%q: got %q, %v, want %q, %q", c.text, got, err, c.want, c.err)
		}
	}
	for text, want := range map[string]byte{";": ';', "tab": '\t', `\t`: '\t', "\t": '\t', "pipe": '|', "space": ' ',
		"": 0, ";;": 0, "\"": 0, "\n": 0, "é": 0, "\x00": 0} {
		if got, err := ParseDelimiter(text); got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
}

// TestUnsupportedFiles checks that the error for an unsupported file suggests what to do.
func TestUnsupportedFiles(t *testing.T) {
	for name, want := range map[string]string{"x.tar.gz": "archives are not supported: unpack the archive", "x.zip": "archives are not supported",
		"x.wav": "pass the folder", "x.mp3": "convert the file", "x.xlsx": "save the sheet as CSV",
		"x.csv.bz2": "expected gzip or Zstandard"} {
		if _, err := readText(writeFile(t, name, "x"), Options{}); err == nil ||
			!strings.Contains(err.Error(), name+": ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", name, err, want)
		}
	}
}

// TestTextOfOtherFormat checks that a text file gets one note if all its lines are JSON objects or all
// begin with a fastText label, and otherwise none.
func TestTextOfOtherFormat(t *testing.T) {
	object, labelled := `{"text":"a"}`+"\n", "__label__a good\n"
	objects := strings.Repeat(object, 250)
	for text, want := range map[string]string{
		objects:                           "lines are JSON objects but are read as text: read the fields with --format jsonl",
		object:                            "lines are JSON objects",
		strings.Repeat(labelled, 3):       "lines begin with __label__, as in fastText's format, ",
		object + "plain\n":                "",
		"":                                "",
		strings.Repeat(object, 3) + "{\n": "",
	} {
		var notes []string
		path := writeFile(t, "a.txt", text)
		r := must.Get(Open(t.Context(), path, Options{Columns: []string{"text"}, MaxField: 1 << 20,
			Note: func(line string) { notes = append(notes, line) }}))(t)
		var row Row
		for r.Next(&row) == nil {
		}
		r.Close()
		if (want == "") != (len(notes) == 0) || len(notes) > 1 || want != "" &&
			!strings.HasPrefix(notes[0], path+": "+want) {
			t.Errorf("%.40q: got notes %q, want %q", text, notes, want)
		}
	}
}
