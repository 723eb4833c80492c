package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/testenv"
)

// TestCustomHF goes the whole way with a tokenizer.json: the data set and the model keep
// it, and the file that it came from is not needed any more.
func TestCustomHF(t *testing.T) {
	testenv.NoRace(t, "trains as TestTrain does; its baselines are slow loops")
	dir := t.TempDir()
	table := "review,mood\n"
	for i := range 20 {
		table += fmt.Sprintf("The film %d is good [SEP] good!,good\n%d bad films.,bad\n", i, i)
	}
	from, file := filepath.Join(dir, "moods.csv"), filepath.Join(dir, "bert.json")
	data, model := filepath.Join(dir, "data"), filepath.Join(dir, "model")
	writeText(t, from, table)
	writeText(t, file, readText(t, filepath.Join("..", "..", "internal", "hftokenizer", "testdata", "bert.json")))
	run := func(in string, args ...string) string {
		t.Helper()
		status, out, errs := program(strings.NewReader(in), args...)
		if status != 0 {
			t.Fatalf("%v: status %d\n%s\n%s", args, status, out, errs)
		}
		return out
	}
	convert := []string{"data", "convert", "--from", from, "--to", data, "--text", "review", "--label", "mood", "--split", "0.5,0.3,0.2", "--seed", "3", "--tokenizer", "hf:" + file}
	run("", convert...)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if out := run("", "data", "head", data); !strings.Contains(out, "film") {
		t.Errorf("found %s", out)
	}
	run("", "train", "custom", "--data", data, "--out", model, "--steps", "2", "--batch", "4", "--hidden", "8", "--layers", "1", "--eval-every", "2")
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	// As tokens: the ids of the library, in its file of samples.
	text, tokens := run(`{"text":"[CLS] good [SEP]  [MASK] [UNK] [PAD]"}`, "predict", "--model", model), run(`{"tokens":[2,151,3,4,1,0]}`, "predict", "--model", model)
	if text != tokens || !strings.Contains(text, `"label"`) {
		t.Errorf("found %s and %s", text, tokens)
	}
	folder := filepath.Join(dir, "models")
	if err := os.CopyFS(filepath.Join(folder, "one"), os.DirFS(model)); err != nil {
		t.Fatal(err)
	}
	if found := run(`{"text":"[CLS] good [SEP]  [MASK] [UNK] [PAD]"}`, "predict", "--model", folder); found != text {
		t.Errorf("in a folder: found %s, expected %s", found, text)
	}
	run("", append(convert[:len(convert)-1:len(convert)-1], "from:"+model)...)
	run("", "eval", "--model", model, "--data", data)
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(model, "tokenizer.json"), readText(t, filepath.Join("..", "..", "internal", "hftokenizer", "testdata", "t5.json")))
	if out := failing(t, `{"text":"good"}`, "predict", "--model", model); !strings.Contains(out, "expected the tokenizer of SHA-256") || !strings.Contains(out, "tokenizer.json") {
		t.Errorf("found %s", out)
	}
	writeText(t, file, "{")
	refuse(t, exitError, file+": expected a tokenizer.json of Hugging Face's tokenizers", "", convert...)
	refuse(t, exitError, "nowhere.json", "", append(convert[:len(convert)-1:len(convert)-1], "hf:nowhere.json")...)
	refuse(t, exitUsage, "expected the path", "", append(convert[:len(convert)-1:len(convert)-1], "hf:")...)
	if _, err := os.Stat(data); err == nil {
		t.Error("something is left")
	}
}

// failing runs a command that answers with errors, and returns what it says.
func failing(t *testing.T, in string, args ...string) string {
	t.Helper()
	status, out, errs := program(strings.NewReader(in), args...)
	if status == 0 {
		t.Errorf("%v: no error\n%s", args, out)
	}
	return out + errs
}
