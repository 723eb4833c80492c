package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sftseq/internal/baseline"
)

// proseTable is a table of short reviews, whose mood a few words say.
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

// TestConvertChooses: without --tokenizer prose is read as words, and why is said; what
// is asked for wins; a pipe cannot be read twice.
func TestConvertChooses(t *testing.T) {
	path := proseTable(t, 400)
	convert := func(more ...string) (out, info string) {
		to := filepath.Join(t.TempDir(), "data")
		out = succeed(t, "", append([]string{"data", "convert", "--to", to, "--text", "review", "--label", "mood", "--no-baselines"}, more...)...)
		return out, succeed(t, "", "data", "info", to)
	}
	if out, info := convert("--from", path); !strings.Contains(out, "tokenizer words:20000: the texts are prose: ") || !strings.Contains(info, "words") {
		t.Errorf("%s\n%s", out, info)
	}
	if out, info := convert("--from", path, "--tokenizer", "byte"); strings.Contains(out, "tokenizer") || !strings.Contains(info, "byte") {
		t.Errorf("%s\n%s", out, info)
	}
	nested := writeText(t, filepath.Join(t.TempDir(), "a.jsonl"), `{"doc":{"body":"x"}}`+"\n")
	if _, out, _ := program(nil, "data", "convert", "--to", t.TempDir(), "--text", "doc.text", "--from", nested); out != "tokenizer byte: none of the first rows can be used (--tokenizer takes another)\n" {
		t.Errorf("%q", out)
	}
	pipe := filepath.Join(t.TempDir(), "reviews.csv")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	go func() {
		if err := os.WriteFile(pipe, []byte(readText(t, path)), 0); err != nil {
			t.Error(err)
		}
	}()
	if out, info := convert("--from", pipe); !strings.Contains(out, "tokenizer byte: what comes through a pipe is read once") || !strings.Contains(info, "byte") {
		t.Errorf("%s\n%s", out, info)
	}
}

// TestConvertBaselines: a conversion says what simple models reach, and keeps it.
func TestConvertBaselines(t *testing.T) {
	path, dir := proseTable(t, 600), t.TempDir()
	to := filepath.Join(dir, "data")
	args := []string{"data", "convert", "--from", path, "--to", to, "--text", "review", "--label", "mood", "--split", "0.6,0.2,0.2"}
	out := succeed(t, "", args...)
	for _, split := range []string{"val", "test"} {
		_, line, ok := strings.Cut(out, "baselines of "+split+": largest class (")
		line, _, _ = strings.Cut(line, "\n")
		var class string
		var majority, bag float64
		if n, err := fmt.Sscanf(line, "%s %f%%, bag of tokens and neighbours, logistic regression %f%%", &class, &majority, &bag); !ok || n != 3 || majority < 30 || majority > 70 || bag < 95 {
			t.Errorf("%s: %q, %v, expected about 50%% and all", split, line, err)
		}
	}
	if _, err := os.Stat(filepath.Join(to, baseline.FileName)); err != nil {
		t.Error(err)
	}
	args[5] = filepath.Join(dir, "plain")
	if out := succeed(t, "", append(args, "--no-baselines")...); strings.Contains(out, "baseline") {
		t.Error(out)
	}
	if _, err := os.Stat(filepath.Join(dir, "plain", baseline.FileName)); err == nil {
		t.Error("--no-baselines kept some")
	}
}

// TestBaselinesBesideModels: training, eval and the report show what simple models reach;
// a report measures them where the conversion did not.
func TestBaselinesBesideModels(t *testing.T) {
	path, dir := proseTable(t, 600), t.TempDir()
	data, plain, run := filepath.Join(dir, "data"), filepath.Join(dir, "plain"), filepath.Join(dir, "run")
	convert := []string{"data", "convert", "--from", path, "--text", "review", "--label", "mood", "--split", "0.6,0.2,0.2", "--to"}
	succeed(t, "", append(convert, data)...)
	succeed(t, "", append(convert, plain, "--no-baselines")...)
	status, out, errs := program(nil, "train", "custom", "--data", data, "--out", run, "--steps", "3", "--hidden", "16")
	if status != exitOK || !strings.Contains(out, "simple models reach there: largest class (") {
		t.Fatalf("status %d\n%s%s", status, out, errs)
	}
	if out := succeed(t, "", "eval", "--model", run, "--data", data); !strings.Contains(out, "largest class (") || !strings.Contains(out, baseline.Bag) {
		t.Errorf("eval: %s", out)
	}
	if out := succeed(t, "", "eval", "--model", run, "--data", data, "--json"); !strings.Contains(out, `"majority"`) {
		t.Errorf("eval --json: %s", out)
	}
	if out := succeed(t, "", "eval", "--model", run, "--data", plain); strings.Contains(out, "largest class") {
		t.Errorf("eval of data without baselines: %s", out)
	}
	for _, set := range []string{data, plain} {
		page := filepath.Join(dir, filepath.Base(set)+".html")
		if status, _, errs := program(nil, "report", "--data", set, "--out", page, run); status != exitOK {
			t.Fatalf("status %d: %s", status, errs)
		}
		if text := readText(t, page); !strings.Contains(text, baseline.Bag) || !strings.Contains(text, "largest class (") {
			t.Errorf("%s: the page has no baselines", set)
		}
	}
}
