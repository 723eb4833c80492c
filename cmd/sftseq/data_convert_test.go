package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestConvertWarns checks that convert warns if a data set lacks something that training or eval
// needs.
func TestConvertWarns(t *testing.T) {
	dir := t.TempDir()
	few := writeText(t, filepath.Join(dir, "few, for once.csv"), "text,label,split\na,x,train\nb,y,train\n")
	ids := ""
	for i := range 100 {
		ids += fmt.Sprintf("{\"ids\":[%d,%d,%d],\"label\":\"%d\"}\n", i/25, i/5%5, i%5, i%2)
	}
	ids = writeText(t, filepath.Join(dir, "ids.jsonl"), ids)
	table := "text,label,split\n"
	for _, split := range []string{"train", "val", "test"} {
		for i, letter := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
			table += split + letter + "," + "xy"[i%2:][:1] + "," + split + "\n"
		}
	}
	many, tests := writeText(t, filepath.Join(dir, "many.csv"), table), writeText(t, filepath.Join(dir, "tests.csv"),
		"text,label,split\na,x,test\n")
	for _, c := range []struct {
		args []string
		want []string // warnings
	}{
		{[]string{few, "--label", "label"},
			[]string{few + " has a column split", "no row was assigned to val or test, because each class keeps " +
				"at least one row in train, and too few other distinct rows remain: add rows"}},
		{[]string{few, "--label", "label", "--split", "1,0,0"}, nil},
		{[]string{few, "--label", "label", "--split-column", "split"},
			[]string{"the split val is empty, so sftseq train cannot validate: move rows from the split train to val " +
				"with, for example, --val-part"}},
		{[]string{tests, "--label", "label", "--split-column", "split"},
			[]string{`the split train is empty, so models cannot learn: no row has "train" in the column "split"`}},
		{[]string{many, "--label", "label", "--split", "0.4,0.3,0.3"}, nil},
		{[]string{many, "--label", "label", "--split-column", "split"}, nil},
		{[]string{many, "--split-column", "split"},
			[]string{"the rows have neither labels nor numbers, so only pretrain can use this data set: to use it " +
				"with train, convert it again with, for example, --label COLUMN"}},
		{[]string{ids, "--tokens", "ids", "--vocab", "5", "--label", "label"}, nil},
	} {
		args := append([]string{"data", "convert", "--to", filepath.Join(t.TempDir(), "to"), "--from"}, c.args...)
		if !slices.Contains(args, "--tokens") {
			args = append(args, "--text", "text")
		}
		status, _, errs := program(nil, args...)
		if status != 0 || strings.Count(errs, "warning: ") != len(c.want) {
			t.Errorf("%q: status %d, expected %d warnings:\n%s", c.args, status, len(c.want), errs)
		}
		for _, want := range c.want {
			contains(t, errs, "warning: "+want)
		}
	}
}

// TestHeadShowsIDs checks that data head prints the ids of rows: the ids of --id, FILE:LINE for an empty
// id, and row numbers for a file without ids.
func TestHeadShowsIDs(t *testing.T) {
	from, to := writeText(t, filepath.Join(t.TempDir(), "a.csv"), "key,text\nk1,one\n,two\n7,three\n"),
		filepath.Join(t.TempDir(), "to")
	mustRunData(t, "convert", "--from", from, "--to", to, "--text", "text", "--id", "key", "--split", "1,0,0")
	want := `{"id":"k1","text":"one"}
{"id":"a.csv:3","text":"two"}
{"id":"7","text":"three"}
`
	equal(t, mustRunData(t, "head", to), want)
	in, _ := sequences(t, 2)
	contains(t, mustRunData(t, "head", in), `{"id":1,"tokens":[`)
}
