package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestSameRows checks that data convert and predict read the same rows of a table in the same order
// and with the same ids. A row that convert skips has an error in predict, under its id in the
// table.
func TestSameRows(t *testing.T) {
	model, dir := moodModel(t), t.TempDir()
	at := func(name, text string) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o777))
		return writeText(t, path, text)
	}
	json := `{"id":1.50,"t":"a"}` + "\n" + `{"id":"x y","t":""}` + "\n" + `{"id":null,"t":"b"}` + "\n" +
		`{"id":[1,2],"t":3}` + "\n" + `{"id":true,"t":[1]}` + "\n" + `{"t":"c"}`
	at("shards/a.csv", "id,t\n1,aa\n2,\xff\n")
	shards := filepath.Dir(at("shards/b.csv", "t,id\nbb,3\n,4\n"))
	for _, c := range []struct {
		from    string
		columns []string
		want    string // ids; a bad row's id ends with "!"
	}{
		{at("a.csv", "id,t\n1,aa\n2,\xff\n3,\n,dd\n5,ee\n"),
			[]string{"--text", "t", "--id", "id"}, "1 2! 3! a.csv:5 5"},
		{shards, []string{"--text", "t", "--id", "id"}, "1 2! 3 4!"},
		{shards, []string{"--text", "t", "--id", "path"}, "a.csv a.csv! b.csv b.csv!"},
		{at("a.jsonl", json), []string{"--text", "t", "--id", "id"}, "1.50 x y! a.jsonl:3 a.jsonl:4 true! a.jsonl:6"},
		{at("a.json", "["+strings.ReplaceAll(json, "\n", ",\n")+"]"), []string{"--text", "t", "--id", "id"},
			"1.50 x y! a.json:3 a.json:4 true! a.json:6"},
		{at("a.fq", "@r1\nAC\n+\n!!\n@r2 x\nAC\n+\n!\n@r3\nG\n+\n!\n"), []string{"--text", "sequence"}, "r1 r2! r3"},
		{at("b.fq", "@r1 x\nAC\n+\n!!\n@r2 y\nAC\n+\n!\n"),
			[]string{"--text", "sequence", "--id", "description"}, "x y!"},
		{at("a.fa", ">r1\nAC\n>r2\n>r3\n\xff\n>r4\nT\n"), []string{"--text", "sequence"}, "r1 r2! r3! r4"},
		{at("a.log", "a\n\n\xff\nb\n"), []string{"--text", "text", "--id", "line"}, "1 3! 4"},
	} {
		to := filepath.Join(t.TempDir(), "set")
		mustRunData(t, append([]string{"convert", "--from", c.from, "--to", to, "--tokenizer", "byte", "--split",
			"0,0,1"}, c.columns...)...)
		var converted []string
		for _, r := range replyLines(t, mustRunData(t, "head", "--split", "test", "--rows", "100", to)) {
			converted = append(converted, strings.Trim(string(r.ID), `"`))
		}
		out := filepath.Join(t.TempDir(), "out.csv")
		program(nil, append([]string{"predict", "--model", model, "--input", c.from, "--output", out}, c.columns...)...)
		var good, all []string
		for _, row := range csvRows(t, out) {
			if id := row["id"]; row["error"] == "" {
				good, all = append(good, id), append(all, id)
			} else {
				all = append(all, id+"!")
			}
		}
		if !slices.Equal(good, converted) || strings.Join(all, " ") != c.want {
			t.Errorf("%s %v: ids %v of a data set, %v of predict, want %s", filepath.Base(c.from),
				c.columns, converted, all, c.want)
		}
	}
}

// TestAbsentColumns checks that a requested column that no row of JSON has is reported.
func TestAbsentColumns(t *testing.T) {
	model := moodModel(t)
	from := writeText(t, filepath.Join(t.TempDir(), "a.jsonl"),
		"{\"t\":\"aab\",\"name\":{\"first\":1}}\n{\"t\":\"xyz\"}\n")
	status, out, errs := program(nil, "predict", "--model", model, "--input", from, "--text", "t", "--id",
		"key", "--keep", "t,stars")
	if status != exitOK || strings.Count(out, "\n") != 2 {
		t.Errorf("got status %d, output %q; want status %d, 2 lines", status, out, exitOK)
	}
	for _, column := range []string{"key", "stars"} {
		contains(t, errs, fmt.Sprintf("warning: %s: no row has the column %q; the first rows have [\"name.first\" \"t\"]\n", from, column))
	}
}

// TestColumnWithoutName checks that a column without a name is kept: pandas writes its index that
// way.
func TestColumnWithoutName(t *testing.T) {
	model, dir := moodModel(t), t.TempDir()
	from := writeText(t, filepath.Join(dir, "a.csv"), ",t\n7,aab\n8,xyz\n")
	to := filepath.Join(dir, "out.csv")
	succeed(t, "", "predict", "--model", model, "--input", from, "--text", "t", "--keep", "all", "--output", to)
	if got := readText(t, to); !strings.HasPrefix(got, "id,,t,label,") || !strings.Contains(got, "\na.csv:2,7,aab,") ||
		!strings.Contains(got, "\na.csv:3,8,xyz,") {
		t.Errorf("got %s, want an unnamed column with the values 7 and 8", got)
	}
}
