package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/testenv"
)

// TestCustom goes the whole way with a table of the user's own: CSV through a pipe,
// training with settings from the data, and answers with the labels' names.
func TestCustom(t *testing.T) {
	testenv.NoRace(t, "trains as TestTrain does; its baselines are slow loops")
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	var table strings.Builder
	table.WriteString("mood,review\n")
	for i := range 600 {
		mood, letters := "bad", "xyz"
		if i%2 == 0 {
			mood, letters = "good", "abc"
		}
		fmt.Fprintf(&table, "%s,\"%d ", mood, i)
		for range 5 + r.IntN(30) {
			table.WriteByte(letters[r.IntN(3)])
		}
		table.WriteString("\"\n")
	}
	table.WriteString("good,\n")
	path, data, model := filepath.Join(dir, "moods.csv"), filepath.Join(dir, "data"), filepath.Join(dir, "model")
	if err := os.WriteFile(path, []byte(table.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	status, out, errs := program(nil, "data", "convert", "--from", path, "--to", data, "--text", "review", "--label", "mood")
	if status != 0 || !strings.Contains(out, "labels: bad, good\n") || !strings.Contains(errs, "1 of 601 rows left out: empty text\n  "+path+":602\n") {
		t.Fatalf("status %d\n%s\n%s", status, out, errs)
	}
	status, out, errs = program(nil, "train", "custom", "--data", data, "--out", model, "--steps", "60", "--batch", "32", "--hidden", "16", "--eval-every", "30")
	if status != 0 || !strings.Contains(errs, "half of them up to") {
		t.Fatalf("status %d\n%s\n%s", status, out, errs)
	}
	status, out, errs = program(strings.NewReader("{\"text\":\"abcabcabcabca\"}\n{\"text\":\"zzyxxyzzyzzx\"}\n"), "predict", "--model", model)
	if status != 0 || !strings.Contains(out, `"label":"good"`) || !strings.Contains(out, `"label":"bad"`) || strings.Index(out, `"good"`) > strings.Index(out, `"bad"`) {
		t.Errorf("status %d\n%s\n%s", status, out, errs)
	}
}

// TestCustomTokens goes the whole way with lists of token ids: the model is given them as
// lists or as text.
func TestCustomTokens(t *testing.T) {
	testenv.NoRace(t, "trains as TestTrain does; its baselines are slow loops")
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	var table strings.Builder
	for i := range 400 {
		var ids []string
		for range 5 + r.IntN(10) {
			ids = append(ids, fmt.Sprint(50*(i%2)+r.IntN(50)))
		}
		fmt.Fprintf(&table, `{"ids": [%s], "half": "%d"}`+"\n", strings.Join(ids, ","), i%2)
	}
	path, data, model := filepath.Join(dir, "ids.jsonl"), filepath.Join(dir, "data"), filepath.Join(dir, "model")
	if err := os.WriteFile(path, []byte(table.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"data", "convert", "--from", path, "--to", data, "--tokens", "ids", "--vocab", "100", "--label", "half"},
		{"train", "custom", "--data", data, "--out", model, "--steps", "150", "--batch", "32", "--hidden", "16", "--eval-every", "150"},
	} {
		if status, out, errs := program(nil, args...); status != 0 || strings.Contains(errs, "warning") {
			t.Fatalf("%q: status %d\n%s\n%s", args, status, out, errs)
		}
	}
	in := `{"tokens": [3, 9, 27, 1, 30, 22]}` + "\n" + `{"text": "80 99 51 64 70"}` + "\n" + `{"text": "[80, 100]"}` + "\n"
	status, out, errs := program(strings.NewReader(in), "predict", "--model", model)
	lines := strings.Split(out, "\n")
	if status != exitError || len(lines) != 4 || !strings.Contains(lines[0], `"label":"0"`) || !strings.Contains(lines[1], `"label":"1"`) || !strings.Contains(lines[2], `expected a token id from 0 to 99, found \"100\"`) {
		t.Errorf("status %d\n%s\n%s", status, out, errs)
	}
}

func TestCustomRefuses(t *testing.T) {
	testenv.NoRace(t, "trains as TestTrain does; its baselines are slow loops")
	table := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(table, []byte("text,label\na,b\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "to")
	for _, c := range []struct {
		status int
		want   string
		args   []string
	}{
		{exitUsage, "--from is missing", []string{"data", "convert", "--to", to, "--text", "text"}},
		{exitUsage, "--to is missing", []string{"data", "convert", "--from", table, "--text", "text"}},
		{exitUsage, "--text, --tokens, --features or --pair is missing", []string{"data", "convert", "--from", table, "--to", to}},
		{exitUsage, "expected a task (component-parts, components, image, listops, modelnet40, molecules, pascalvoc-sp, pathfinder, peptides-func, peptides-struct, retrieval, shapenetpart, superpixels, text) or flags only", []string{"data", "convert", "xyzzy"}},
		{exitUsage, `unknown task "lisps". Did you mean "listops"?`, []string{"data", "convert", "lisps", "--from", table, "--to", to}},
		{exitUsage, `--split "0.9,0.1": expected three numbers`, []string{"data", "convert", "--from", table, "--to", to, "--text", "text", "--split", "0.9,0.1"}},
		{exitUsage, "exclude each other", []string{"data", "convert", "--from", table, "--to", to, "--text", "text", "--split", "1,0,0", "--split-column", "label"}},
		{exitUsage, `--max-row "much"`, []string{"data", "convert", "--from", table, "--to", to, "--text", "text", "--max-row", "much"}},
		{exitError, `column "txt": expected one of ["text" "label"]`, []string{"data", "convert", "--from", table, "--to", to, "--text", "txt"}},
		{exitError, "no/such.csv", []string{"data", "convert", "--from", "no/such.csv", "--to", to, "--text", "text"}},
		{exitUsage, "known types: audio-vq, byte, dna, hf, ids, listops, mulaw, pixel, words", []string{"data", "convert", "--from", table, "--to", to, "--text", "text", "--tokenizer", "bytes"}},
		{exitUsage, "--data is missing", []string{"train", "custom"}},
		{exitUsage, "--data is missing", []string{"train", "image"}},
	} {
		refuse(t, c.status, c.want, "", c.args...)
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("something is left")
	}
}

// TestInfoOfBytes: info says how ids are stored that are not the numbers in the file.
func TestInfoOfBytes(t *testing.T) {
	file := filepath.Join(customData(t, "--label", "mood"), "train.arrow")
	if status, out, errs := program(nil, "data", "info", file); status != exitOK || !strings.Contains(out, "stored      each id minus 1 (first_token_id)") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	if status, out, errs := program(nil, "data", "info", "--json", file); status != exitOK || !strings.Contains(out, `"first_token_id": 1`) {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
}
