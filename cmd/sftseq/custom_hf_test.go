package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// TestCustomHF uses a tokenizer.json from conversion to prediction. The data set and the model have
// copies of this file, so the test removes the original.
func TestCustomHF(t *testing.T) {
	testenv.NoRace(t, "trains with code that the tests of package train cover; its baselines are slow")
	dir := t.TempDir()
	table := "review,mood\n"
	for i := range 20 {
		table += fmt.Sprintf("The film %d is good [SEP] good!,good\n%d bad films.,bad\n", i, i)
	}
	from, file := filepath.Join(dir, "moods.csv"), filepath.Join(dir, "bert.json")
	data, model := filepath.Join(dir, "data"), filepath.Join(dir, "model")
	writeText(t, from, table)
	writeText(t, file, readText(t, filepath.Join("..", "..", "internal", "hftokenizer", "testdata", "bert.json")))
	convert := []string{"data", "convert", "--from", from, "--to", data, "--text", "review", "--label", "mood",
		"--split", "0.5,0.3,0.2", "--seed", "3", "--tokenizer", "hf:" + file}
	printed(t, "", convert...)
	must.Succeed(t, os.Remove(file))
	contains(t, printed(t, "", "data", "head", data), "film")
	printed(t, "", "train", "custom", "--members", "sft", "--data", data, "--out", model, "--steps", "2",
		"--batch", "4", "--hidden", "8",
		"--layers", "1", "--eval-every", "2")
	must.Succeed(t, os.RemoveAll(data))
	// Hugging Face's tokenizers library produces these token ids for the text.
	text, tokens := printed(t, `{"text":"[CLS] good [SEP]  [MASK] [UNK] [PAD]"}`, "predict", "--model", model),
		printed(t, `{"tokens":[2,151,3,4,1,0]}`, "predict", "--model", model)
	if text != tokens || !strings.Contains(text, `"label"`) {
		t.Errorf("got %s for the text and %s for its token ids, want equal replies with a label", text, tokens)
	}
	folder := filepath.Join(dir, "models")
	must.Succeed(t, os.CopyFS(filepath.Join(folder, "one"), os.DirFS(model)))
	equal(t, printed(t, `{"text":"[CLS] good [SEP]  [MASK] [UNK] [PAD]"}`, "predict", "--model", folder), text)
	printed(t, "", append(convert[:len(convert)-1:len(convert)-1], "from:"+model)...)
	printed(t, "", "eval", "--model", model, "--data", data)
	must.Succeed(t, os.RemoveAll(data))
	writeText(t, filepath.Join(model, "tokenizer.json"),
		readText(t, filepath.Join("..", "..", "internal", "hftokenizer", "testdata", "t5.json")))
	contains(t, failing(t, `{"text":"good"}`, "predict", "--model", model),
		"expected a tokenizer with SHA-256", "tokenizer.json")
	writeText(t, file, "{")
	refuse(t, exitError, file+": expected a Hugging Face tokenizer.json", "", convert...)
	refuse(t, exitError, "nowhere.json", "", append(convert[:len(convert)-1:len(convert)-1], "hf:nowhere.json")...)
	refuse(t, exitUsage, "expected the path", "", append(convert[:len(convert)-1:len(convert)-1], "hf:")...)
	noFile(t, data)
}
