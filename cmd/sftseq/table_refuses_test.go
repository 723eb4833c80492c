package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
)

// TestTableFlags checks the errors about conflicting, missing and wrong flags and about missing
// columns. An error about a missing column lists the existing columns.
func TestTableFlags(t *testing.T) {
	dir := t.TempDir()
	from := writeText(t, filepath.Join(dir, "a.csv"), "t,u\nA,B\n")
	lines := writeText(t, filepath.Join(dir, "a.jsonl"), "{\"t\":\"A\"}\n")
	to := filepath.Join(dir, "out.csv")
	predict := []string{"predict", "--model", goldenPath("pre")}
	refuseAll(t, exitUsage, predict, []refusal{
		{`with the column of ` + from + ` to read, one of "t", "u"`, []string{"--input", from}},
		{"--text and --tokens exclude each other", []string{"--input", from, "--text", "t", "--tokens", "u"}},
		{"--text needs --input FILE", []string{"--text", "t"}},
		{"--output needs --input FILE", []string{"--output", to}},
		{"expected one of them", []string{"--input", from, "--text", "t", lines}},
		{"--output \"out.xlsx\": expected a file name that ends in", []string{"--input", from, "--text", "t",
			"--output", "out.xlsx"}},
		{`--format "xlsx"`, []string{"--input", from, "--text", "t", "--format", "xlsx"}},
		{"reads one sequence: expected --text COLUMN, found a pair, t,u", []string{"--input", from, "--pair", "t,u"}},
		{"--keep all: the columns of", []string{"--input", lines, "--text", "t", "--keep", "all"}},
		{`--keep "u,u": u is given twice`, []string{"--input", from, "--text", "t", "--keep", "u,u"}},
		{`--keep "u,,t": expected columns`, []string{"--input", from, "--text", "t", "--keep", "u,,t"}},
		{`--keep "u\nt": expected columns`, []string{"--input", from, "--text", "t", "--keep", "u\nt"}},
	})
	refuseAll(t, exitUsage, []string{"predict", "--model", goldenPath("retrieval")}, []refusal{
		{"compares two sequences: expected --pair A,B, found one column, t", []string{"--input", from, "--text", "t"}},
		{`--pair "t": expected two columns`, []string{"--input", from, "--pair", "t"}},
	})
	refuseAll(t, exitError, predict, []refusal{
		{`column "key": expected one of "t", "u"`, []string{"--input", from, "--text", "t",
			"--id", "key", "--output", to}},
		{"absent.csv", []string{"--input", "absent.csv", "--text", "t"}},
		{"--output would replace --input", []string{"--input", from, "--text", "t", "--output", from}},
	})
	runes := withConfig(t, "pre", "tokenizer", map[string]any{"type": "runes"})
	refuse(t, exitError, "text requires a tokenizer (tokens do not)", "", "predict", "--model", runes,
		"--input", from, "--text", "t")
	shards := filepath.Join(dir, "shards")
	must.Succeed(t, os.Mkdir(shards, 0o777))
	shard := writeText(t, filepath.Join(shards, "a.csv"), "t\nA\n")
	for _, to := range []string{shard, filepath.Join(shards, "sub", "..", "new.csv")} {
		refuse(t, exitError, to+": --output would be inside the folder of --input", "",
			append(predict[:3:3], "--input", shards, "--text", "t", "--output", to)...)
	}
	equal(t, readText(t, shard), "t\nA\n")
	noFile(t, to)
	// Lines that begin like JSON must not get the advice for a CSV table.
	for _, lines := range []string{" {\"t\":\"A\"}\n", "{\n", " [1]\nA,B\n"} {
		if status, _, errs := program(strings.NewReader(lines), predict...); status != exitError ||
			strings.Contains(errs, "looks like a CSV table") {
			t.Errorf("%q: got status %d, standard error %q; want %d, one without \"looks like a CSV table\"", lines,
				status, errs, exitError)
		}
	}
	_, errs := exits(t, exitError, "t,u\nA,B\n", predict...)
	contains(t, errs, "2 of 2 lines failed; the first line looks like a CSV table: read it with --input FILE.csv "+
		"--text COLUMN")
}

// TestTableBreaks checks that no output file is left if the input cannot be read to its end.
func TestTableBreaks(t *testing.T) {
	dir := t.TempDir()
	from := writeText(t, filepath.Join(dir, "a.csv"), "t,u\n[MAX 2 9 ],B\n\"open,C\nmore,D\n")
	to := filepath.Join(dir, "out.csv")
	refuse(t, exitError, from+":3: a quoted field is not closed", "", "predict", "--model", goldenPath("pre"),
		"--input", from, "--text", "t", "--output", to)
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("got the files %v, error %v, want only the input", left, err)
	}
	status, out, errs := program(nil, "predict", "--model", goldenPath("pre"), "--input", from, "--text", "t")
	if status != exitError || strings.Count(out, "\n") > 1 || !strings.Contains(errs, "is not closed") {
		t.Errorf("got status %d, want %d and an error about the quoted field; output:\n%s%s", status, exitError, out,
			errs)
	}
	below := filepath.Join(from, "x.csv") // the parent is a file
	refuse(t, exitError, from+": expected a folder, found a regular file\n", "", "predict", "--model",
		goldenPath("pre"), "--input", from,
		"--text", "t", "--output", below)
}

// TestTableToFullDisk checks that a failed write is reported once, although more rows follow.
func TestTableToFullDisk(t *testing.T) {
	full := must.Get(os.OpenFile("/dev/full", os.O_WRONLY, 0))(t)
	defer full.Close()
	dir := t.TempDir()
	for i := range 300 {
		writeText(t, filepath.Join(dir, fmt.Sprintf("%d.csv", i)), "t\n"+strings.Repeat("[MAX 2 9 ]\n", 100))
	}
	var errs strings.Builder
	status := run(t.Context(), []string{"sftseq", "predict", "--model", goldenPath("pre"), "--input", dir,
		"--text", "t"}, nil, full, &errs)
	if status != exitError || strings.Count(errs.String(), "no space left") != 1 {
		t.Errorf("got status %d, %s, want status %d and one error about space", status, errs.String(), exitError)
	}
}

// TestTableOfPairs checks that --pair reads two columns of a table.
func TestTableOfPairs(t *testing.T) {
	from := writeText(t, filepath.Join(t.TempDir(), "a.csv"), "t,u\nab,cde\nf,g\n")
	for _, command := range []string{"predict", "embed"} {
		got := replyLines(t, succeed(t, "", command, "--model", goldenPath("retrieval"),
			"--input", from, "--pair", "t,u"))
		want := replyLines(t, succeed(t,
			"{\"text_a\":\"ab\",\"text_b\":\"cde\"}\n{\"text_a\":\"f\",\"text_b\":\"g\"}\n", command, "--model",
			goldenPath("retrieval")))
		for i := range want {
			equal(t, string(got[i].ID), fmt.Sprintf(`"a.csv:%d"`, i+2))
			got[i].ID, want[i].ID = nil, nil
			if fmt.Sprint(got[i].Logits, got[i].EmbeddingA, got[i].EmbeddingB, got[i].Length,
				*got[i].LengthA, *got[i].LengthB) !=
				fmt.Sprint(want[i].Logits, want[i].EmbeddingA, want[i].EmbeddingB, want[i].Length,
					*want[i].LengthA, *want[i].LengthB) {
				t.Errorf("%s: %+v, want %+v", command, got[i], want[i])
			}
		}
	}
	occurs(t, succeed(t, "", "embed", "--model", goldenPath("retrieval"), "--input", from, "--text", "u",
		"--truncate"), `"embedding":[`, 2)
}

// TestIDsOfDataSets checks that predict and embed return the ids of a data set's rows.
func TestIDsOfDataSets(t *testing.T) {
	model, dir := moodModel(t), t.TempDir()
	from := writeText(t, filepath.Join(dir, "a.csv"), "key,t\nk1,aab\n,xyz\nk3,\nk4,aab\n")
	mustRunData(t, "convert", "--from", from, "--to", filepath.Join(dir, "set"), "--text", "t", "--id",
		"key", "--split", "0,0,1")
	data := filepath.Join(dir, "set", "test.arrow")
	want := "[k1 a.csv:3 k4]"
	for _, command := range []string{"predict", "embed"} {
		for _, name := range []string{"x.arrow", "x.csv", "x.parquet"} {
			to := filepath.Join(dir, command+name)
			succeed(t, "", command, "--model", model, "--input", data, "--output", to)
			var ids []string
			for _, text := range tableText(t, to, []string{"id"}) {
				ids = append(ids, strings.Trim(text, `["]`))
			}
			equal(t, fmt.Sprint(ids), want, command, name, ids)
		}
		var ids []string
		for _, r := range replyLines(t, succeed(t, "", command, "--model", model, "--input", data)) {
			ids = append(ids, strings.Trim(string(r.ID), `"`))
		}
		equal(t, fmt.Sprint(ids), want, command, ids)
	}
	equal(t, string(replyLines(t, succeed(t, mustRunData(t, "head", "--split", "test", filepath.Join(dir, "set")),
		"predict", "--model", model))[1].ID), `"a.csv:3"`)
	other := writeSequences(t, seq.Spec{Task: seq.Classification, VocabSize: 17}, seq.Example{A: []int32{1}})
	refuse(t, exitError, "expected a vocabulary of 257 tokens, found 17", "", "predict",
		"--model", model, "--input", other)
}

// TestTableMemory checks that memory does not grow with the number of rows, even if a column of
// long texts is kept.
func TestTableMemory(t *testing.T) {
	testenv.NoRace(t, "reads 150 MB on one thread")
	model, dir := moodModel(t), t.TempDir()
	heap := func(rows int) uint64 {
		from := writeText(t, filepath.Join(dir, "a.csv"),
			"t,long\n"+strings.Repeat("aab,"+strings.Repeat("long", 25<<10)+"\n", rows))
		done, peaks := make(chan bool), make(chan uint64)
		go func() {
			var peak uint64
			for {
				select {
				case <-done:
					peaks <- peak
					return
				default:
					var stats runtime.MemStats
					runtime.GC()
					runtime.ReadMemStats(&stats)
					peak = max(peak, stats.HeapAlloc)
				}
			}
		}()
		succeed(t, "", "predict", "--model", model, "--input", from, "--text", "t", "--keep", "long", "--output",
			filepath.Join(dir, "out.csv"))
		done <- true
		return <-peaks
	}
	few, many := heap(100), heap(1500) // 10 MB and 150 MB
	if many > few+60<<20 {
		t.Errorf("the heap is %d bytes with 100 rows and %d with 1,500, want at most 60 MiB more", few, many)
	}
}
