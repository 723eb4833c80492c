package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// proseTable writes a table of short reviews whose label depends on a few words, and returns its
// path.
func proseTable(t *testing.T, rows int) string {
	t.Helper()
	r := rand.New(rand.NewPCG(4, 4))
	words := strings.Fields("the a film was and it of this that scene story plot ending music actor camera time people")
	mood := [][]string{{"bad", "boring", "awful"}, {"good", "wonderful", "moving"}}
	var table strings.Builder
	table.WriteString("mood,review\n")
	for i := range rows {
		text := make([]string, 10+r.IntN(20))
		for j := range text {
			text[j] = words[r.IntN(len(words))]
		}
		text[r.IntN(len(text))] = mood[i%2][r.IntN(3)]
		fmt.Fprintf(&table, "%s,%s\n", mood[i%2][0], strings.Join(text, " "))
	}
	return writeText(t, filepath.Join(t.TempDir(), "reviews.csv"), table.String())
}

// TestConvertChooses checks that prose is split into words if --tokenizer is missing, and that the
// reason is printed. An explicit tokenizer takes precedence. A pipe gets the byte tokenizer because
// it cannot be read twice.
func TestConvertChooses(t *testing.T) {
	path := proseTable(t, 400)
	convert := func(more ...string) (out, info string) {
		to := filepath.Join(t.TempDir(), "data")
		out = succeed(t, "", append([]string{"data", "convert", "--to", to, "--text", "review", "--label", "mood",
			"--no-baselines"}, more...)...)
		return out, succeed(t, "", "data", "info", to)
	}
	if out, info := convert("--from", path); !strings.Contains(out, "tokenizer words:20000: the texts are prose: ") ||
		!strings.Contains(info, "}, all words in lower case\n") {
		t.Errorf("got output\n%s\nand info\n%s\nwant tokenizer words:20000 for prose, and all words in lower case", out,
			info)
	}
	if out, info := convert("--from", path, "--tokenizer", "byte"); strings.Contains(out, "tokenizer") ||
		!strings.Contains(info, "byte") || strings.Contains(info, "lower case") {
		t.Errorf("--tokenizer byte: got output\n%s\nand info\n%s\nwant no tokenizer in the output, and info with "+
			"byte but without lower case", out, info)
	}
	nested := writeText(t, filepath.Join(t.TempDir(), "a.jsonl"), `{"doc":{"body":"x"}}`+"\n")
	if _, out, _ := program(nil, "data", "convert", "--to", t.TempDir(), "--text", "doc.text", "--from",
		nested); out != "" { // no row has a text to choose a tokenizer from
		t.Errorf("--text doc.text: got output %q, want none", out)
	}
	pipe := filepath.Join(t.TempDir(), "reviews.csv")
	must.Succeed(t, syscall.Mkfifo(pipe, 0o666))
	go func() {
		must.Check(t, os.WriteFile(pipe, []byte(readText(t, path)), 0))
	}()
	if out, info := convert("--from", pipe); !strings.Contains(out,
		"tokenizer byte: standard input and pipes are read only once") || !strings.Contains(info, "byte") {
		t.Errorf("from a pipe: got output\n%s\nand info\n%s\nwant byte in the info, and in the output tokenizer byte "+
			"because pipes are read only once", out, info)
	}
}

// TestConvertChoosesFromAllFolders checks that the tokenizer is chosen from files of all folders,
// even if the first folder has more files than a sample.
func TestConvertChoosesFromAllFolders(t *testing.T) {
	from := t.TempDir()
	for _, class := range []string{"a", "b"} {
		must.Succeed(t, os.Mkdir(filepath.Join(from, class), 0o777))
	}
	for i := range 2100 {
		bases := strings.NewReplacer("0", "A", "1", "C").Replace(fmt.Sprintf("%012b", i))
		writeText(t, filepath.Join(from, "a", fmt.Sprint(i)), strings.Repeat("ACGTTGCA", 8)+bases)
		writeText(t, filepath.Join(from, "b", fmt.Sprint(i)),
			fmt.Sprintf("the rows of this folder, number %d, are not letters of bases", i))
	}
	out := succeed(t, "", "data", "convert", "--from", from, "--to", filepath.Join(t.TempDir(), "data"), "--label",
		"class", "--no-baselines")
	contains(t, out, "tokenizer byte: dna requires DNA, but only 1", "train.arrow: 3780 rows", "labels: a, b\n")
}
