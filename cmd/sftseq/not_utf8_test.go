package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestLatin1Input checks that a model with a word tokenizer refuses text that is not UTF-8 in text
// files, CSV, JSON lines and requests, and predicts the other rows.
func TestLatin1Input(t *testing.T) {
	c := must.Get(config.Read(goldenPath("pre", "config.json")))(t)
	c.VocabSize, c.Tokenizer = 4, json.RawMessage(`{"type":"words","words":["café","pas"]}`)
	dir := t.TempDir()
	model, files := filepath.Join(dir, "model"), filepath.Join(dir, "files")
	must.Succeed(t, sft.NewModel(c, 3).Save(model))
	must.Succeed(t, os.MkdirAll(files, 0o777))
	writeText(t, filepath.Join(files, "latin1.txt"), "caf\xe9 pas")
	writeText(t, filepath.Join(files, "utf8.txt"), "café pas")
	csv := writeText(t, filepath.Join(dir, "a.csv"), "content\ncaf\xe9 pas\ncafé pas\n")
	lines := writeText(t, filepath.Join(dir, "a.jsonl"), "{\"content\":\"caf\xe9 pas\"}\n{\"content\":\"café pas\"}\n")
	for from, want := range map[string]string{
		files: "1 of 2 rows failed, the first: " + filepath.Join(files,
			"latin1.txt") + ": column content: not UTF-8: found byte 0xe9 at byte 3: convert the text to UTF-8",
		csv:   "1 of 2 rows failed, the first: " + csv + ":2: column content: not UTF-8",
		lines: "1 of 2 rows failed, the first: " + lines + ":1: malformed JSON at byte 16: not UTF-8",
	} {
		out, errs := exits(t, exitError, "", "predict", "--model", model, "--input", from, "--text", "content")
		contains(t, errs, want)
		if replies := replyLines(t, out); len(replies) != 2 || replies[0].Error == nil || replies[1].Error != nil {
			t.Errorf("%s: want an error and then a prediction, got %s", from, out)
		}
	}
	const bytes = "Y2Fm6SBwYXM=" // caf\xe9 pas
	out, _ := exits(t, exitOK,
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`+"\n"+
			`{"jsonrpc":"2.0","id":1,"method":"sequence/classify","params":{"bytes":"`+bytes+`"}}`+"\n",
		"serve", "--model", model)
	contains(t, out, "not UTF-8: found byte 0xe9 at byte 3")
}
