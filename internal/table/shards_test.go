package table

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// writeFolder writes files to a new directory and returns its path.
func writeFolder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o666))
	}
	return dir
}

// addSplit inserts the name of a split before the first value of each row.
func addSplit(split string, rows []string) (out []string) {
	for _, row := range rows {
		line, values, _ := strings.Cut(row, ": ")
		out = append(out, line+": "+split+"|"+values)
	}
	return out
}

// TestShards checks that a folder of tables of one format is read as a single table, in the order of
// file names. Other folders have a row per file, or are an error if they contain Parquet.
func TestShards(t *testing.T) {
	parquet := must.Get(os.ReadFile(filepath.Join("testdata", "others", "duckdb-v2.parquet")))(t)
	whole, err := readText(filepath.Join("testdata", "others", "duckdb-v2.parquet"), Options{Columns: []string{"text"}})
	must.Succeed(t, err)
	for _, c := range []struct {
		name, format string
		files        map[string]string
		columns      []string
		want         []string
		err          string
	}{
		{"CSV", "", map[string]string{"b.csv": "b,a\n3,4\n", "a.csv": "a,b\n1,2\n", "c.csv.gz": gzipped("a,b\n5,6\n"),
			".hidden": "x", "_SUCCESS": ""}, []string{"a", "b"}, []string{"2: 1|2", "2: 4|3", "2: 5|6"}, ""},
		{"path of the shard", "", map[string]string{"train-0.csv": "a\n1\n", "test-0.csv": "a\n2\n"},
			[]string{"path", "a"}, []string{"2: test-0.csv|2", "2: train-0.csv|1"}, ""},
		{"path of the shard, requested twice", "", map[string]string{"a.csv": "a\n1\n"}, []string{"path", "a", "path"},
			[]string{"2: a.csv|1|a.csv"}, ""},
		{"a column called path", "", map[string]string{"0.csv": "a,path\n1,x\n"},
			[]string{"path"}, []string{"2: x"}, ""},
		{"JSON lines", "", map[string]string{"1.jsonl": `{"a":1,"path":"own"}`, "2.ndjson": `{"a":2}`},
			[]string{"a", "path"}, []string{"1: 1|own", "1: 2|∅"}, ""},
		{"JSON", "", map[string]string{"1.json": `[{"a":1}]`, "2.json": `{"a":2}`}, []string{"a"},
			[]string{"1: 1", "1: 2"}, ""},
		{"Parquet", "", map[string]string{"x=1/0.parquet": string(parquet), "x=2/0.parquet": string(parquet)},
			[]string{"text"}, append(whole[:len(whole):len(whole)], whole...), ""},
		{"no extensions", "csv", map[string]string{"part-0": "a\n1\n", "part-1": "a\n2\n"}, []string{"a"},
			[]string{"2: 1", "2: 2"}, ""},
		{"text", "text", map[string]string{"a.txt": "one\n", "b.txt": "two\n"}, []string{"text", "file", "path"},
			[]string{"1: one|a.txt|a.txt", "1: two|b.txt|b.txt"}, ""},

		{"documents", "", map[string]string{"dog/a.txt": "woof", "cat/b.txt": "meow"}, []string{"content", "class"},
			[]string{"0: meow|cat", "0: woof|dog"}, ""},
		{"flat documents", "", map[string]string{"a.txt": "woof"}, []string{"content", "path"},
			[]string{"0: woof|a.txt"}, ""},
		{"tables by class", "", map[string]string{"run/1.csv": "1", "walk/1.csv": "2"}, []string{"content", "class"},
			[]string{"0: 1|run", "0: 2|walk"}, ""},
		{"several formats", "", map[string]string{"1.csv": "1", "2.tsv": "2"}, []string{"content"},
			[]string{"0: 1", "0: 2"}, ""},

		{"another format beside Parquet", "", map[string]string{"notes.md": "x", "data/0.parquet": string(parquet)},
			[]string{"text"},
			nil, "DIR: expected tables of one format, found data/0.parquet and notes.md: pass each file"},
		{"Hub with Parquet", "", map[string]string{"README.md": "x", "LICENSE": "y", ".gitattributes": "z",
			"data/train-00000-of-00002.parquet": string(parquet), "data/test-00000-of-00001.parquet": string(parquet)},
			[]string{"split", "text"}, append(addSplit("test", whole), addSplit("train", whole)...), ""},
		{"Hub with CSV", "", map[string]string{"README.md": "x", "train.csv": "a\n1\n", "validation.csv": "a\n2\n"},
			[]string{"a", "split"}, []string{"2: 1|train", "2: 2|validation"}, ""},
		{"Hub with split folders", "", map[string]string{"train/0.parquet": string(parquet),
			"test/0.parquet": string(parquet)}, []string{"split", "text"},
			append(addSplit("test", whole), addSplit("train", whole)...), ""},
		{"folders of CSV", "", map[string]string{"README.md": "x", "train/0.csv": "a\n1\n", "test/0.csv": "a\n2\n"},
			[]string{"path", "a", "split"}, []string{"2: test/0.csv|2|test", "2: train/0.csv|1|train"}, ""},
		{"a column called split", "", map[string]string{"README.md": "x", "train.csv": "split\n1\n",
			"test.csv": "split\n2\n"},
			[]string{"split"}, []string{"2: 2", "2: 1"}, ""},
		{"documents with a readme", "", map[string]string{"README.md": "x", "a.txt": "y"}, []string{"content"},
			[]string{"0: x", "0: y"}, ""},
		{"a column that a shard lacks", "", map[string]string{"1.csv": "a\n1\n", "2.csv": "b\n1\n"}, []string{"a"},
			[]string{"2: 1"}, "DIR/2.csv: column \"a\": expected one of"},
		{"a missing column", "", map[string]string{"1.csv": "a\n1\n"}, []string{"b"}, nil,
			"DIR/1.csv: column \"b\": expected one of"},
		{"a shard that is not Parquet", "", map[string]string{"1.parquet": string(parquet), "2.parquet": "PAR1"},
			[]string{"text"}, whole, "DIR/2.parquet: expected a Parquet file"},
		{"an empty folder", "csv", map[string]string{".x": ""}, []string{"a"}, nil,
			"DIR: expected tables, found no file"},
	} {
		dir := writeFolder(t, c.files)
		got, err := readText(dir, Options{Columns: c.columns, Format: c.format})
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if (err == nil) != (c.err == "") || err != nil &&
			!strings.HasPrefix(err.Error(), strings.ReplaceAll(c.err, "DIR", dir)) {
			t.Errorf("%s: got error %v, want %q", c.name, err, c.err)
		}
		if err != nil && strings.Count(err.Error(), dir) != 1 {
			t.Errorf("%s: got error %v, want the folder once", c.name, err)
		}
		if files := c.columns[0] == "content"; files != IsFolder(dir, c.format) && c.err == "" {
			t.Errorf("%s: IsFolder: got %v, want %v", c.name, !files, files)
		}
	}
}

// TestProgressOfBytes checks that the progress reported for Parquet, JSON and text files adds up to the
// file size, and that a large file reports progress several times.
func TestProgressOfBytes(t *testing.T) {
	const others = "testdata/others/"
	list := "[" + strings.Repeat("{\"text\":\"x\"},\n", 50000) + "{}]"
	for _, path := range []string{others + "duckdb-many.parquet", others + "polars-many.parquet",
		others + "duckdb-zstd.parquet", writeFile(t, "x.json", list), writeFile(t, "x.json.gz", gzipped(list)),
		writeFile(t, "x.txt", list)} {
		info := must.Get(os.Stat(path))(t)
		var reported, calls int64
		rows, err := readRows(path, Options{Columns: []string{"text"}, Progress: func(n int64) {
			if n < 0 {
				t.Errorf("%s: got progress of %d bytes, want at least 0", path, n)
			}
			calls++
			reported += n
		}})
		if err != nil || reported != info.Size() || len(rows) > 1000 && info.Size() > 200000 && calls < 3 {
			t.Errorf("%s: got %d bytes in %d calls for %d rows, error %v; want %d bytes, in at least 3 calls for over "+
				"1000 rows in over 200000 bytes", path, reported, calls, len(rows), err, info.Size())
		}
	}
}

// TestBadRowsOfShards checks that a malformed row of a shard keeps its valid values and the path of
// its shard.
func TestBadRowsOfShards(t *testing.T) {
	dir := writeFolder(t, map[string]string{"a.csv": "id,text\n1,\xff\n2\n"})
	rows, err := readRows(dir, Options{Columns: []string{"path", "text", "id"}})
	if err != nil || len(rows) != 2 {
		t.Fatalf("got %v, %v, want 2 rows", rows, err)
	}
	if got := rows[0].Values; rows[0].Err == nil || len(got) != 3 || got[0].Text != "a.csv" ||
		!got[1].Null || got[2].Text != "1" {
		t.Errorf("got %+v, want an error and the values a.csv, null and 1", rows[0])
	}
	if got := rows[1].Values; rows[1].Err == nil || !rows[1].Uneven || len(got) != 3 || got[0].Text != "a.csv" ||
		!got[1].Null || got[2].Text != "2" {
		t.Errorf("got %+v, want an uneven row with an error and the values a.csv, null and 2", rows[1])
	}
}

// TestUnreadableFolder checks the error for a folder that does not exist.
func TestUnreadableFolder(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "absent")
	must.Fail(t, absent+": no such file or directory")(findShards(absent, ""))
	must.Fail(t, absent+": no such file or directory")(newFolder(t.Context(), absent, Options{}))
}
