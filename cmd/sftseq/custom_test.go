package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// TestCustom converts a CSV table, trains with settings from the data, and checks that predictions
// have label names.
func TestCustom(t *testing.T) {
	testenv.NoRace(t, "trains with code that the tests of package train cover; its baselines are slow")
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
	must.Succeed(t, os.WriteFile(path, []byte(table.String()), 0o666))
	out, errs := exits(t, exitOK, "", "data", "convert", "--from", path, "--to", data, "--text",
		"review", "--label", "mood")
	contains(t, out, "labels: bad, good\n")
	contains(t, errs, "1 of 601 rows left out: empty text\n  "+path+":602\n")
	_, errs = exits(t, exitOK, "", "train", "custom", "--members", "sft", "--data", data, "--out", model,
		"--steps", "60", "--batch", "32",
		"--hidden", "16", "--eval-every", "30")
	contains(t, errs, "half of them up to")
	in := "{\"text\":\"abcabcabcabca\"}\n{\"text\":\"zzyxxyzzyzzx\"}\n"
	replies := replyLines(t, printed(t, in, "predict", "--model", model))
	if len(replies) != 2 || replies[0].Label != "good" || replies[1].Label != "bad" {
		t.Errorf("unexpected replies: %+v", replies)
	}
}

// TestCustomTokens converts lists of token ids, trains, and checks that predict accepts ids as lists
// and as text.
func TestCustomTokens(t *testing.T) {
	testenv.NoRace(t, "trains with code that the tests of package train cover; its baselines are slow")
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
	must.Succeed(t, os.WriteFile(path, []byte(table.String()), 0o666))
	for _, args := range [][]string{
		{"data", "convert", "--from", path, "--to", data, "--tokens", "ids", "--vocab", "100", "--label", "half"},
		{"train", "custom", "--members", "sft", "--data", data, "--out", model, "--steps", "150",
			"--batch", "32", "--hidden",
			"16", "--eval-every", "150"},
	} {
		if status, out, errs := program(nil, args...); status != 0 || strings.Contains(errs, "warning") {
			t.Fatalf("%q: got status %d, output\n%s\nand standard error\n%s\nwant status 0 and no warning", args,
				status, out, errs)
		}
	}
	in := `{"tokens": [3, 9, 27, 1, 30, 22]}` + "\n" + `{"text": "80 99 51 64 70"}` + "\n" +
		`{"text": "[80, 100]"}` + "\n"
	status, out, errs := program(strings.NewReader(in), "predict", "--model", model)
	lines := strings.Split(out, "\n")
	if status != exitError || len(lines) != 4 || !strings.Contains(lines[0], `"label":"0"`) ||
		!strings.Contains(lines[1], `"label":"1"`) ||
		!strings.Contains(lines[2], `expected a token id from 0 to 99, found \"100\"`) {
		t.Errorf("got status %d, output\n%s\nand standard error\n%s\nwant status %d and three lines: label 0, label "+
			"1, and an error about token id 100", status, out, errs, exitError)
	}
}

// TestInfoOfBytes checks that data info prints the offset between token ids and the ids stored in
// the file.
func TestInfoOfBytes(t *testing.T) {
	file := filepath.Join(customData(t, "--label", "mood"), "train.arrow")
	contains(t, printed(t, "", "data", "info", file), "stored      each id minus 1 (first_token_id)")
	contains(t, printed(t, "", "data", "info", "--json", file), `"first_token_id": 1`)
}
